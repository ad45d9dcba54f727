"""Few-pixel attacks from scores alone, to test the robustness of one's own classifier."""

from szoht.problems.attack.batching import Batches
from szoht.problems.attack.layout import Layout
from szoht.problems.attack.many import attack_many
from szoht.problems.attack.margin import Margin
from szoht.problems.attack.networks import Network, as_network
from szoht.problems.attack.objective import AttackObjective
from szoht.problems.attack.result import AttackResult, AttackResults, AttackStatus
from szoht.problems.attack.run import attack

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
