"""Pages in a real browser: what shows, what sorts, and what leaves the page."""

import html
import json
import re
import shutil
import subprocess

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

PROBE = """
<script>
  const seen = [...document.querySelectorAll("figure svg")].map(svg => {
    const box = svg.getBoundingClientRect();
    const drawn = [...svg.querySelectorAll("path, image, use")].filter(part => {
      const inner = part.getBoundingClientRect();
      return inner.width + inner.height > 0;
    });
    return {name: svg.id, width: box.width, height: box.height, drawn: drawn.length};
  });
  const table = document.querySelector("table"), button = table.querySelector("th button");
  const first = () => [...table.tBodies[0].rows].map(row => row.cells[0].textContent);
  const before = first();
  button.click();
  const up = first();
  button.click();
  const ids = [...document.querySelectorAll("[id]")].map(part => part.id);
  const twice = ids.filter((id, place) => ids.indexOf(id) !== place);
  const result = {seen, before, up, down: first(), twice, wide: document.body.scrollWidth};
  document.body.dataset.probe = JSON.stringify(result);
</script>
"""


def look_at(page, folder):
    """Return what a script finds on a page, and the addresses that the browser asked for."""
    copy = folder / "probed.html"  # the same page, and the script
    copy.write_text(page.read_text().replace("</body>", PROBE + "</body>"))
    dom, asked = browse(copy, folder)
    found = re.search(r'data-probe="([^"]+)"', dom)
    assert found, dom[:500]
    return json.loads(html.unescape(found.group(1))), asked


def browse(page, folder):
    """Return the page as the browser has it, and the addresses that it asked for."""
    log = folder / "requests.json"
    flags = [
        "headless",
        "no-sandbox",
        "disable-gpu",
        "disable-dev-shm-usage",
        "disable-background-networking",
        "disable-component-update",
        "disable-default-apps",
        "disable-sync",
        "no-first-run",
        "dump-dom",
    ]
    command = [
        str(CHROMIUM),
        *(f"--{flag}" for flag in flags),
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--window-size=1200,900",
        f"--user-data-dir={folder / 'profile'}",
        f"--log-net-log={log}",
        page.as_uri(),
    ]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    text = log.read_text()
    try:
        events = json.loads(text)["events"]
    except ValueError:  # cut short when the browser left before closing it
        events = json.loads(text.rstrip(",\n ") + "]}")["events"]
    asked = [event["params"] for event in events if "initiator" in event.get("params", {})]
    # what the browser asks for on its own account has no origin
    urls = {one["url"] for one in asked if one["initiator"] != "not an origin"}
    return run.stdout, sorted(url for url in urls if not url.startswith(("file:", "data:")))
