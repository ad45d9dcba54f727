"""What a report of a problem should say about the machine."""

import szoht


def test_versions_are_printed(capsys, monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    szoht.show_versions()
    lines = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines())
    assert lines["szoht"] == szoht.__version__
    assert lines["numpy"][0].isdigit()
    assert lines["OPENBLAS_CORETYPE"] == "Haswell"
    assert {"python", "system", "scipy", "blas", "instructions"} <= lines.keys()
