"""What every symbol and term means, in one place. Pages mark a term where it first stands, and list all of them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """`also` are other spellings. A symbol is found as it is written, a word also with a capital or as a plural."""

    name: str
    meaning: str
    also: tuple[str, ...] = ()
    symbol: bool = False
    marked: bool = True  # everyday words are listed, and not marked in a text


SYMBOLS = (
    Term("P", "The side of a patch, in pixels: a patch is P x P of them.", symbol=True),
    Term("N", "How many patches a picture is cut into.", symbol=True),
    Term("C", "The channels of a picture: 1 for grey, 3 for red, green and blue.", symbol=True, marked=False),
    Term("D", "The width of the model: so many numbers describe one token, from the embedding to the answer.",
         symbol=True),
    Term("L", "The depth of the model: how many blocks stand one after the other.", symbol=True),
    Term("h", "How many heads look side by side in one block.", symbol=True),
    Term("d_k", "The width of one head, D divided by h: so many numbers are in a query, a key and a value.",
         also=("dₖ",), symbol=True),
    Term("x_p", "The pixels of a patch, as a row of numbers.", symbol=True),
    Term("E", "The matrix of the embedding. It turns the pixels of any patch into D numbers, and it is learned.",
         symbol=True),
    Term("E_pos", "One learned vector of D numbers for each place. Added to a token, it tells where the token is.",
         symbol=True),
    Term("z", "The residual stream: all tokens as they are at one place of the model. z₀ enters the first block, z "
         "with ℓ as its index has left block ℓ.", also=("z₀",), symbol=True),
    Term("q", "Query: what a token looks for, as d_k numbers. Each head makes its own from the token.", symbol=True),
    Term("k", "Key: what a token offers to those who look, as d_k numbers.", symbol=True),
    Term("v", "Value: what a token hands over to those who look at it, as d_k numbers.", symbol=True),
    Term("γ", "Gamma: what LayerNorm multiplies each number with, in the end. Learned, one for each of the D numbers.",
         symbol=True),
    Term("β", "Beta: what LayerNorm adds to each number, in the end. Learned, one for each of the D numbers.",
         symbol=True),
    Term("μ", "Mu: the mean of a token's D numbers.", symbol=True),
    Term("σ", "Sigma: the standard deviation of a token's D numbers, which is how far they lie from their mean.",
         symbol=True),
    Term("Φ", "Phi: the share of a bell curve that lies below a number, from 0 to 1.", symbol=True),
)
MODEL = (
    Term("ViT", "Vision Transformer: a picture is cut into patches, and these are read as a Transformer reads words.",
         also=("Vision Transformer",)),
    Term("patch", "A small square of the picture. To the model it is one word of a sentence.", also=("patches",)),
    Term("token", "What the model computes with: one vector for each patch, and one for CLS."),
    Term("vector", "A row of numbers."),
    Term("CLS", "The class token. It has no pixels: a learned vector, the same for every picture, that collects what "
         "the answer needs. The answer is read from it alone."),
    Term("embedding", "Turning a patch into a vector of D numbers, by one learned matrix."),
    Term("position", "Where a token is in the picture. The model knows it only from a learned vector that is added."),
    Term("dot product", "Multiply two vectors number by number, and add up. Large when both point the same way."),
    Term("attention", "How a token gathers from others: it compares its query with all keys, and takes a weighted sum "
         "of their values."),
    Term("head", "One of h attentions that work side by side in a block, each with its own queries, keys and values."),
    Term("query", "What a token looks for, as d_k numbers.", also=("queries",)),
    Term("key", "What a token offers to those who look.", marked=False),
    Term("value", "What a token hands over to those who look at it.", marked=False),
    Term("score", "How well a query matches a key: their dot product, divided by √d_k, before softmax."),
    Term("softmax", "Turns any numbers into shares that are positive and add up to 1: each is e to the number, divided "
         "by the sum of all. The larger, the more it takes."),
    Term("pattern", "All attention weights of a head: a row is who looks, a column at whom. Each row adds up to 1.",
         marked=False),
    Term("MSA", "Multi-head self-attention: all heads of a block, their results put side by side and mixed by one "
         "matrix."),
    Term("concatenation", "Putting vectors end to end: h heads of d_k numbers give D numbers again."),
    Term("output projection", "The matrix that mixes what the heads of a block bring home, before it is added."),
    Term("block", "One of L equal parts of the model: attention, then an MLP. Both only add to what is there.",
         also=("layer",)),
    Term("residual stream", "What runs through all blocks. Each block reads it and adds to it; nothing is ever "
         "replaced.", also=("residual",)),
    Term("LayerNorm", "Brings a token's numbers to mean 0 and deviation 1, then gives each its own γ and β. It keeps "
         "every block's input in the same range.", also=("LN",)),
    Term("MLP", "Two layers of weights that each token goes through alone: D numbers to many more, GELU, back to D."),
    Term("GELU", "Lets positive numbers through and holds negative ones back, smoothly: x times Φ(x)."),
    Term("logit", "The model's score for one class, before softmax makes probabilities of all of them."),
    Term("probability", "What softmax makes of a logit. How far to trust it is what calibration tells.",
         also=("probabilities",), marked=False),
    Term("class", "One of the possible answers; for MNIST, a digit.", also=("classes",), marked=False),
    Term("classifier", "The last layer of weights: the D numbers of CLS in, a logit for each class out. The paper "
         "calls it the head; it is none of the heads of attention."),
    Term("logit lens", "Reading the answer too early: last norm and classifier, applied to CLS after each block."),
    Term("weights", "The numbers that training has found. They are the same for every picture.", also=("parameters",)),
    Term("bias", "A learned number that is added after a multiplication.", also=("biases",)),
    Term("Conv2d", "A layer that moves a small filter over a picture. With steps as long as the filter it is the "
         "embedding of patches."),
    Term("filter", "One column of E, as a picture of P x P pixels: what one of the D numbers looks for in a patch."),
    Term("mask", "Scores set to minus infinity before softmax, so that nobody can look there."),
)
READING = (
    Term("cosine", "How alike two vectors point: 1 for the same way, 0 for nothing in common, -1 for opposite ways."),
    Term("entropy", "How spread attention is, in bits: 0 for one token only, and one bit more each time it spreads "
         "over twice as many."),
    Term("attention rollout", "Attention followed through all layers, with the residual stream as half of each step: a "
         "guess at where the answer comes from.", also=("rollout",)),
    Term("rank correlation", "Whether two lists are in the same order: 1 is the same, 0 none, -1 the reverse."),
    Term("occlusion", "Hiding a patch and measuring what the answer loses."),
    Term("centre of mass", "The point at which the ink would balance. MNIST's makers put it in the middle."),
)
TRAINING = (
    Term("training images", "The pictures that a model learns from."),
    Term("validation", "Pictures set aside: the model never learns from them, and they tell how well it is doing."),
    Term("test set", "Pictures that nobody looks at until the end. They give the figure that is published.",
         also=("test images",)),
    Term("epoch", "One pass through all training images."),
    Term("batch", "The images that are learned from in one step.", also=("batches",)),
    Term("step", "One change of all weights, made from one batch.", marked=False),
    Term("loss", "How wrong the answers are, as one number that training makes smaller.", also=("losses",)),
    Term("gradient", "For each weight, which way to change it so that the loss falls."),
    Term("learning rate", "How far each step goes along the gradient."),
    Term("warm-up", "The first steps, in which the learning rate grows from 0, so that fresh weights are not thrown "
         "about.", also=("warmup",)),
    Term("AdamW", "The way of stepping that is usual for Transformers: each weight has a pace of its own."),
    Term("weight decay", "Every step also makes the weights a little smaller, so that none grows without need."),
    Term("dropout", "Some numbers are set to 0 by chance while a model trains, so that it relies on none of them."),
    Term("label smoothing", "Training for a little less than certainty: not 100 % for the right class, but a little "
         "for each of the others. The answers are then less sure, and often as good."),
    Term("calibration", "Whether “80 % sure” is right in 80 % of the cases."),
    Term("augmentation", "Showing changed copies of the training images: mirrored, moved, turned.",
         also=("augmentations",)),
    Term("flip", "An image mirrored, left for right.", also=("flips", "mirrored")),
    Term("twins", "Two runs that differ in one setting, and in nothing else: same first weights, same images in the "
         "same order."),
    Term("seed", "The number from which everything random in a run follows. The same seed repeats the run, another one "
         "shows what was luck."),
    Term("interval", "The range in which the true difference lies, as far as so many runs or images can tell. When it "
         "contains 0, there may be none."),
    Term("early stopping", "Ending a run when validation has not become better for a while."),
    Term("overfitting", "Learning the training images by heart: better and better on them, worse on others.",
         also=("memorisation",)),
    Term("checkpoint", "The weights of a model, kept as a file after an epoch."),
    Term("MNIST", "70,000 handwritten digits in 28 x 28 grey pixels, of which 10,000 are the test set."),
)
GROUPS = {"Symbols": SYMBOLS, "The model": MODEL, "Reading it": READING, "Training": TRAINING}
TERMS = tuple(term for group in GROUPS.values() for term in group)

