"""Claims in a real browser: the list, one claim, its dots, and the way back."""

from playwright.sync_api import expect

from vit.studies.catalogue import CATALOGUE


def test_claims_are_filtered_opened_and_left_again(page, app_url):
    page.goto(f"{app_url}/claims")
    rows = page.locator("li[data-words]")
    expect(rows).to_have_count(len(CATALOGUE))
    page.get_by_role("button", name="from the jottings").click()
    jotted = [study for study in CATALOGUE.values() if any(place.text == "004" for place in study.places)]
    expect(rows.filter(visible=True)).to_have_count(len(jotted))
    page.get_by_role("button", name="all", exact=False).first.click()
    expect(rows.filter(visible=True)).to_have_count(len(CATALOGUE))
    rows.nth(2).get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(CATALOGUE["number-of-weights"].title)
    expect(page).to_have_url(f"{app_url}/claims?claim=number-of-weights")
    expect(page.get_by_text("1,992,970").first).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text(CATALOGUE["number-of-weights"].title)
    page.get_by_role("button", name="All claims").click()
    expect(rows).to_have_count(len(CATALOGUE))
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text(CATALOGUE["number-of-weights"].title)
