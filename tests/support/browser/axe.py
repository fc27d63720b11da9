"""What axe finds on a page. The page's content security policy must be bypassed: it blocks axe too."""

from playwright.sync_api import Page

from tests.support.browser.live_page import AXE

_RUN = "axe.run().then(found => found.violations.map(one => `${one.id}: ${one.nodes.map(node => node.html)}`))"


def violations(page: Page) -> list[str]:
    """The rules that the page breaks now, each with the elements that break it."""
    page.add_script_tag(content=AXE.read_text(encoding="utf-8"))
    found: list[str] = page.evaluate(_RUN)
    return found
