"""Few-pixel attacks from scores alone, to test the robustness of one's own classifier."""

from szoht.problems.attack.batching import Batches as Batches
from szoht.problems.attack.layout import Layout as Layout
from szoht.problems.attack.many import attack_many as attack_many
from szoht.problems.attack.margin import Margin as Margin
from szoht.problems.attack.networks import Network as Network
from szoht.problems.attack.networks import as_network as as_network
from szoht.problems.attack.objective import AttackObjective as AttackObjective
from szoht.problems.attack.result import AttackResult as AttackResult
from szoht.problems.attack.result import AttackResults as AttackResults
from szoht.problems.attack.result import AttackStatus as AttackStatus
from szoht.problems.attack.run import attack as attack
