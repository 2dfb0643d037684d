"""Per layer, per head: Q, K, V, scores, softmax, weighted values."""

from vit.ui import frame
from vit.ui.panels import attention, side_by_side

view = frame.begin("attention")
frame.title("Who looks at whom?", attention.sentence(view))
attention.where_it_looks(view, side_by_side.control(view))
attention.look_closer(view)
attention.try_this(view)
frame.end("attention")
