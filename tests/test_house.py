"""The tree: few modules at the top, tests beside what they test, one meaning for each name."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "szoht"
MODULES = {path: ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}

MIRRORED = ("core", "run", "operators", "updates", "estimators", "store", "evaluation")
ACROSS_MODULES = {
    "estimators/test_recovery.py": "what both estimators that recover gradients promise",
    "evaluation/executors/test_dask_deaths.py": "a cluster in processes apart, which are killed",
    "evaluation/executors/test_faults.py": "faults that every executor survives",
    "evaluation/executors/test_identity.py": "every executor gives the same bits",
    "evaluation/executors/test_orphans.py": "programs that must not outlive a run",
    "evaluation/executors/test_stragglers.py": "plans that do not wait for all values",
    "run/test_edge_cases.py": "sound input at the edge of what is usual, through the whole stack",
    "run/test_endings.py": "how runs of all methods end",
    "run/test_failures.py": "a failing function: oracle, algorithm and loop together",
    "run/test_misuse.py": "arguments of minimize, whichever module checks them",
    "run/test_promises.py": "what the default method promises, however a run ends",
    "run/test_sound_calls.py": "calls that must have an answer, through the whole stack",
    "run/test_wrong_types.py": "arguments of all entry points, whichever module checks them",
    "store/test_crafted.py": "files from strangers, read by every module",
    "store/test_extended.py": "finished runs with a raised limit, through the whole stack",
    "store/test_files.py": "files that are no stores, or damaged",
    "store/test_first_stores.py": "stores of version 0.2.0, continued by every later one",
    "store/test_killed.py": "processes killed at any moment",
    "store/test_old_stores.py": "stores from before version 0.2.0",
    "store/test_opening.py": "new stores, full disks and locks",
    "store/test_other_processors.py": "runs that move from one processor to another",
    "store/test_read_only.py": "stores that may not be written",
    "store/test_resume.py": "minimize and resume with a store",
    "store/test_variables.py": "variables in stores, through the whole stack",
}

CLASSES_OF_ONE_NAME = {
    "FewPixelAttack": "each library's users find the attack by the same name",
}
CONSTANTS_OF_ONE_NAME = {
    "the numbers of one experiment of the paper, in its module": (
        {
            "BUDGETS",
            "D",
            "DIRECTIONS",
            "FULL_QUERIES",
            "QUICK_QUERIES",
            "EXPERIMENT",
            "K",
            "K_STAR",
            "MU",
            "QUICK",
            "ROWS",
        }
    ),
    "the methods of one part of the paper, and their names in its figures": {"LABELS", "METHODS"},
    "the source of one module's problems": {"CITATION"},
}


def test_few_modules_lie_at_the_top():
    top = [path.name for path in MODULES if path.parent == SOURCE]
    assert len(top) <= 10, top


@pytest.mark.parametrize("package", MIRRORED)
def test_tests_lie_where_their_module_does(package):
    lost = []
    for path in (TESTS / package).rglob("test_*.py"):
        name = path.relative_to(TESTS).as_posix()
        module = SOURCE / path.parent.relative_to(TESTS) / path.stem.removeprefix("test_")
        if (
            name not in ACROSS_MODULES
            and not module.is_dir()
            and not module.with_suffix(".py").exists()
        ):
            lost.append(name)
    assert lost == []


def test_exceptions_exist():
    assert [name for name in ACROSS_MODULES if not (TESTS / name).exists()] == []


def test_a_name_is_one_class():
    homes = defaultdict(list)
    for path, tree in MODULES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(path.relative_to(SOURCE).as_posix())
    twice = {name: files for name, files in homes.items() if len(files) > 1}
    assert {name: twice[name] for name in twice.keys() - CLASSES_OF_ONE_NAME.keys()} == {}


def constants(tree):
    """Yield the names in capitals that a module assigns, with the source of their values."""
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = zip(target.elts, node.value.elts, strict=True)
            else:
                pairs = [(target, node.value)]
            for name, value in pairs:
                if isinstance(name, ast.Name) and name.id.isupper():
                    yield name.id, ast.unparse(value)


def test_a_name_is_one_constant():
    values = defaultdict(dict)
    for path, tree in MODULES.items():
        for name, value in constants(tree):
            values[name][path.relative_to(SOURCE).as_posix()] = value
    several = {name for name, by_file in values.items() if len(set(by_file.values())) > 1}
    allowed = set.union(*CONSTANTS_OF_ONE_NAME.values())
    assert {name: list(values[name]) for name in several - allowed} == {}
