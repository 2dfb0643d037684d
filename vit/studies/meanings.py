"""Why each claim is worth trying, and what follows if it holds or does not: words without a number of their own."""

from dataclasses import dataclass

from vit.studies.study import CANNOT_TELL, DOES_NOT, HOLDS, IN_PART

IN_GENERAL = {
    IN_PART: "Part of the claim holds: the figures here say which.",
    CANNOT_TELL: "These runs leave it open. That is a result as well: they are too few, or too scattered, for an "
                 "effect of the size that matters.",
}


@dataclass(frozen=True)
class Meaning:
    why: str
    if_so: str
    if_not: str

    def of(self, verdict: str) -> str:
        return {HOLDS: self.if_so, DOES_NOT: self.if_not}.get(verdict) or IN_GENERAL[verdict]


MEANINGS: dict[str, Meaning] = {
    "flips-hurt": Meaning(
        "Left and right are part of what a digit is: a mirrored 2 is no 2, while a mirrored 0, 1 or 8 nearly stays "
        "what it was. A mirrored shoe is still a shoe.",
        "Augmentation has to fit the data. Whoever mirrors digits teaches what no test asks for, and pays on the "
        "digits that a mirror changes.",
        "At this size mirroring does no harm that could be seen. What the article measured must have another cause.",
    ),
    "batch-of-32": Meaning(
        "Two accuracies can only be told apart if luck would seldom swap them. One batch has few images.",
        "Even one batch tells the two models apart.",
        "The conclusion's headline is a toss of a coin. The validation accuracies in the same table, on thousands of "
        "images, are the figures to quote.",
    ),
    "number-of-weights": Meaning(
        "The number of weights follows from the shape alone, so that anybody can check it.",
        "The figure fits the shape.",
        "The figure belongs to another model. The tutorial that counts as many has fewer blocks.",
    ),
    "compile-halves": Meaning(
        "The article compares a compiled run with flips against a run without either: two things differ at once. Here "
        "one does.",
        "Compilation alone explains the shorter epochs.",
        "Compilation does not halve the time here. On the article's GPU it may: there is more to gain where single "
        "operations are short.",
    ),
    "initialisation": Meaning(
        "Where the weights start decides how large signals and gradients are in the first steps.",
        "The start matters as much as the article says, for both learning rates and both depths.",
        "Training gets going from other starts too. Pre-norm and residuals already keep signals in bounds.",
    ),
    "first-two-epochs": Meaning(
        "A recipe that is told in full gives its own figures again. If another setting gives them, something was left "
        "untold.",
        "One of the settings that we tried gives these figures. It may be what the article did.",
        "None of the settings that we tried gives them: the article does something that it does not tell.",
    ),
    "norm-before-or-after": Meaning(
        "The article's formulas put LayerNorm after the sum, its text and figure before it. Published work finds "
        "post-norm unstable from about ten blocks on, unless the learning rate warms up.",
        "Where LayerNorm stands decides how well training goes. The figure is right, and the formula would be worse.",
        "At this depth both places do. The formula is a slip of notation that costs nothing here.",
    ),
    "no-augmentation": Meaning(
        "Augmentation shows a model what it may ignore. Whether it gains anything depends on what really varies.",
        "On MNIST, for so short a training, nothing is gained by changing the images.",
        "MNIST gains from changes that fit it. That flips do harm says nothing against small shifts and turns.",
    ),
    "memorisation": Meaning(
        "A model that reads its training images much better than others has learned some by heart.",
        "More depth memorises more. Ten blocks have room to spare for so few images.",
        "More depth does not widen the gap here. Overcapacity is no explanation for what flips do.",
    ),
    "gelu-by-tanh": Meaning(
        "The formula with tanh was made to be quick, at a time when the exact one was slow.",
        "Either formula will do: no answer depends on it.",
        "The two are not the same to this model. Weights want the formula that they were trained with.",
    ),
    "scaling": Meaning(
        "A dot product of d_k numbers of size 1 has a variance of d_k. Large scores make softmax choose one token "
        "alone, and then little can be learned.",
        "Dividing does what it is meant to do, and training is better for it.",
        "The variance is not what the derivation says: it takes numbers of size 1, and weights start smaller and grow.",
    ),
    "where-the-weights-are": Meaning(
        "A block has four matrices of D x D in attention, and two of D x 4D in its MLP.",
        "The split is as told.",
        "The split is not as told: an MLP four times as wide has twice the weights of attention.",
    ),
    "residuals": Meaning(
        "Through z + F(z) a gradient has a way past each block. Without it, the way leads through every one.",
        "Residuals carry gradients to the first blocks, and training depends on them.",
        "These depths train without residuals as well.",
    ),
    "conv2d-trick": Meaning(
        "A convolution whose steps are as long as its kernel touches each patch once: it is the same sum, written "
        "otherwise.",
        "Both are one operation. Which to write is a matter of taste and speed.",
        "The two differ by more than rounding: one of them is written wrongly.",
    ),
    "small-data": Meaning(
        "A CNN is built to look at neighbours and to treat all places alike. A ViT has to learn both from images.",
        "What is built in need not be learned: it helps while images are few, and stops to matter when there are many.",
        "A small ViT does not fall behind as the texts say, or does not catch up where they say it would.",
    ),
    "warm-up": Meaning(
        "In the first steps gradients of fresh attention point anywhere. Warm-up keeps these steps small.",
        "Warm-up is worth its few steps.",
        "With LayerNorm before each part, training gets going without warm-up, as published work says of pre-norm.",
    ),
    "positions": Meaning(
        "To attention, patches are a set: shuffle them, and nothing changes. Positions tell where each one was.",
        "Without positions a ViT reads a bag of patches, and reads it worse.",
        "What is in the patches is enough here, wherever they stood.",
    ),
    "global-from-the-first-layer": Meaning(
        "That every patch can look everywhere does not mean that it does. A model may learn to look near first.",
        "From the first block on, patches look about as far as if they looked everywhere alike.",
        "The first block looks nearer than it could. What is possible and what is learned are two things.",
    ),
    "cls-or-mean": Meaning(
        "CLS is one way to gather what patches know; their mean is another, without a token of its own.",
        "Reading from CLS is much better here.",
        "The mean of the patches does as well. What matters is that something gathers, not that it is CLS.",
    ),
    "causal-mask": Meaning(
        "GPT may not look ahead, because it predicts what comes next. An image has no next.",
        "Looking everywhere is better, even where the mask is read from the token that sees all.",
        "A causal mask costs little if one reads from the last patch, which sees all others.",
    ),
}
