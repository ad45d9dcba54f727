"""Problems with all that is known about them: start, constants, best value, citation, data."""

from szoht.problems.assets import Assets as Assets
from szoht.problems.assets import from_returns as from_returns
from szoht.problems.base import Problem as Problem
from szoht.problems.data import DataFile as DataFile
from szoht.problems.data import fetch as fetch
from szoht.problems.orlib import load_frontier as load_frontier
from szoht.problems.orlib import load_market as load_market
from szoht.problems.orlib import read_market as read_market
from szoht.problems.portfolio import Portfolio as Portfolio
from szoht.problems.portfolio import portfolio as portfolio
from szoht.problems.prices import read_prices as read_prices
from szoht.problems.prices import read_returns as read_returns
from szoht.problems.quadratic import quadratic as quadratic
from szoht.problems.quadratic import sensitivity as sensitivity
from szoht.problems.recovery import recovery as recovery
