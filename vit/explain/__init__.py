"""What a trace and a model tell beyond their raw numbers: pure functions from arrays to arrays.

Sums are computed in float64 from the float32 numbers of the trace, so that what should add up does.
T = N+1 tokens, D width, h heads, L blocks, as in the model.
"""

from vit.explain.answer import Contributions, LogitLens, Step, contributions, logit_lens, settled_at, steps
from vit.explain.arithmetic import cosines, furthest_from_zero, lengths, same_order, softmax, weights
from vit.explain.attention import (
    AllHeads,
    Attended,
    Hardest,
    all_heads,
    attention_distance,
    attention_maps,
    causal_pattern,
    entropy,
    hardest_look,
    rollout,
    scaling_effect,
)
from vit.explain.comparison import LogitsApart, heads_apart, logits_apart, looks_elsewhere
from vit.explain.embedding import conv2d_difference, most_alike, neighbour_similarity, position_similarity
from vit.explain.missing import occlusion, without_each_head
from vit.explain.products import (
    DotProduct,
    LayerNormNumbers,
    Term,
    class_logit,
    dot_product,
    layer_norm_numbers,
    mlp_unit,
    normal_below,
)
from vit.explain.projections import (
    Kind,
    concatenated,
    mixed,
    output_column,
    projected,
    projection_column,
    put_in_by_heads,
    read_by_attention,
)
from vit.explain.stream import (
    Added,
    ClsPath,
    added,
    adds_most,
    block_sum,
    cls_path,
    depths,
    is_a_sum,
    mean_of_others,
    read_by_head,
    token_similarity,
)

__all__ = [
    "Added", "AllHeads", "Attended", "ClsPath", "Contributions", "DotProduct", "Hardest", "Kind", "LayerNormNumbers",
    "LogitLens", "LogitsApart", "Step", "Term", "added", "adds_most", "all_heads", "attention_distance",
    "attention_maps", "block_sum", "causal_pattern", "class_logit", "cls_path", "concatenated", "contributions",
    "conv2d_difference", "cosines", "depths", "dot_product", "entropy", "furthest_from_zero", "hardest_look",
    "heads_apart", "is_a_sum", "layer_norm_numbers", "lengths", "logit_lens", "logits_apart", "looks_elsewhere",
    "mean_of_others", "mixed", "mlp_unit", "most_alike", "neighbour_similarity", "normal_below", "occlusion",
    "output_column", "position_similarity", "projected", "projection_column", "put_in_by_heads", "read_by_attention",
    "read_by_head", "rollout", "same_order", "scaling_effect", "settled_at", "softmax", "steps", "token_similarity",
    "weights", "without_each_head",
]
