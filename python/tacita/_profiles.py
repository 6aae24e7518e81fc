"""Profiles that have a setting of their own."""

from __future__ import annotations

from typing import Literal

__all__ = ["date", "phone", "timestamp"]


def date(order: Literal["DMY", "MDY"] | None = None) -> str:
    """Profile that reads days.

    Parameters
    ----------
    order : {"DMY", "MDY"}, optional
        Which number comes first in ``04/05/1980``. Without it, days that can be read in two ways are unreadable.

    Returns
    -------
    str
        The profile's name in a job file.

    Examples
    --------
    >>> import tacita
    >>> tacita.date("DMY")
    'date:DMY'
    """
    return _with_setting("date", order)


def timestamp(zone: str | None = None) -> str:
    """Profile that reads points in time.

    Parameters
    ----------
    zone : str, optional
        Time zone of values that name none, as ``"Europe/Vienna"``.

    Returns
    -------
    str
        The profile's name in a job file.

    Examples
    --------
    >>> import tacita
    >>> tacita.timestamp("Europe/Vienna")
    'timestamp:Europe/Vienna'
    """
    return _with_setting("timestamp", zone)


def phone(country: str | None = None) -> str:
    """Profile that reads telephone numbers.

    Parameters
    ----------
    country : str, optional
        Country of numbers without a country code, as ``"DE"``.

    Returns
    -------
    str
        The profile's name in a job file.

    Examples
    --------
    >>> import tacita
    >>> tacita.phone("DE")
    'phone:DE'
    """
    return _with_setting("phone", country)


def _with_setting(profile: str, setting: str | None) -> str:
    return profile if setting is None else f"{profile}:{setting}"
