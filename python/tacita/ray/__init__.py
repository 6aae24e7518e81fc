"""One organisation, many machines: a party's part of a job on a Ray cluster, or on processes of one machine.

Rows are spread over buckets by a seed that the parties draw together, and each bucket is a run of the job between one machine of each party. Scheduling,
placement and retries are Ray's. What it tells, and what it costs, is in ``docs/guides/ray.md``.

>>> import tacita.ray
>>> tacita.ray.run(job, "hospital", "patients/", "id/hospital", "common/")  # doctest: +SKIP
ClusterResult(hospital: rows 1250)
"""

from ._plan import ClusterPlan, plan
from ._pools import Cluster, Pool, Processes
from ._result import ClusterResult
from ._run import run

__all__ = ["Cluster", "ClusterPlan", "ClusterResult", "Pool", "Processes", "plan", "run"]
