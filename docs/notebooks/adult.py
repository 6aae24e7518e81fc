"""Invented people with the columns of the Adult census, in which columns depend on each other as they do there: for the notebook and for tests."""

from __future__ import annotations

import random

import pandas as pd

EDUCATION = ["basic", "school", "college", "degree"]
WORK = {
    "basic": ["manual", "service"],
    "school": ["manual", "service", "office"],
    "college": ["service", "office", "manager"],
    "degree": ["office", "manager", "expert"],
}
PAY = {"manual": 0.10, "service": 0.08, "office": 0.2, "manager": 0.5, "expert": 0.55}
MARITAL = ["married", "single", "divorced"]


def people(rows: int, seed: int = 1) -> pd.DataFrame:
    """So many people, the same for each seed."""
    chance = random.Random(seed)
    made = []
    for number in range(rows):
        age = chance.choices(["under 30", "30 to 50", "over 50"], [3, 4, 3])[0]
        education = chance.choices(EDUCATION, [2, 4, 3, 2])[0]
        work = chance.choice(WORK[education])
        marital = chance.choices(MARITAL, [1, 5, 1] if age == "under 30" else [5, 2, 2])[0]
        hours = max(5, min(80, round(chance.gauss(45 if work in ("manager", "expert") else 38, 9))))
        likely = PAY[work] * (1.4 if marital == "married" else 0.6) * (0.5 if age == "under 30" else 1.2) * hours / 40
        income = ">50K" if chance.random() < likely else "<=50K"
        made.append((f"P{number:05d}", age, education, work, marital, hours, income))
    return pd.DataFrame(made, columns=["person", "age", "education", "work", "marital", "hours", "income"])


def split(everyone: pd.DataFrame, seed: int = 2) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What a registry and a bank know of them: other columns of other people, most of them the same, in another order."""
    registry = everyone.sample(frac=0.9, random_state=seed)[["person", "age", "education", "work", "hours"]]
    bank = everyone.sample(frac=0.8, random_state=seed + 1)[["person", "marital", "income"]]
    bank["savings"] = [
        len(row.marital) * 100 + 900 * (row.income == ">50K") + place % 37
        for place, row in enumerate(bank.itertuples())
    ]
    return registry.reset_index(drop=True), bank.reset_index(drop=True)
