"""What the texts claim, what came out here, and every run behind it."""

from vit.studies import shelf
from vit.ui import frame
from vit.ui.panels.claims import here, listing, opened

study = opened.asked_for()
if study:
    found = shelf.result_of(study)
    frame.title(study.title, f"The claim: *{study.claim}*")
    opened.head(study, found)
    opened.evidence(study, found.result)
    opened.meaning(study, found.result)
    opened.command(study, found.result)
    opened.rule_by_rule(study, found.result)
    here.panel(study, found.result)
    opened.behind(study, found.result)
else:
    frame.title("Do the articles get it right?", listing.sentence())
    listing.texts_and_table()
    listing.claims()
    listing.article_in_full()
frame.end("claims")
