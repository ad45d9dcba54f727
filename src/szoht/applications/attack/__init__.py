"""Sparse black-box adversarial attacks, to test the robustness of your own classifier."""

from szoht.applications.attack.batching import Batches
from szoht.applications.attack.layout import Layout
from szoht.applications.attack.many import attack_many
from szoht.applications.attack.margin import Margin
from szoht.applications.attack.networks import Network, as_network
from szoht.applications.attack.objective import AttackObjective
from szoht.applications.attack.result import AttackResult, AttackResults, AttackStatus
from szoht.applications.attack.run import attack

__all__ = [
    "AttackObjective",
    "AttackResult",
    "AttackResults",
    "AttackStatus",
    "Batches",
    "Layout",
    "Margin",
    "Network",
    "as_network",
    "attack",
    "attack_many",
]
