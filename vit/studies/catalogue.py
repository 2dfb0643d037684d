"""All claims that are tried, with the rules that decide them: written down before the runs, and not touched after.

Quick-size models where the claim allows it (about 35 s a run on one core), the article's shape where the claim is about
it. Seconds are those of one core of the machine that the project was made on.
"""

from dataclasses import replace

from vit.config import PRESETS, TRAINING_PRESETS, TrainConfig, ViTConfig
from vit.studies import computations
from vit.studies.study import Above, Arm, Between, Computation, Near, NoWorse, Place, Setting, Study

QUICK = TRAINING_PRESETS["quick"]
DEEP_QUICK = replace(QUICK, model=replace(QUICK.model, depth=10))
FASHION = replace(QUICK, dataset="fashion-mnist")
CIFAR = replace(QUICK, dataset="cifar10", learning_rate=1e-3,
                model=ViTConfig(image_size=32, channels=3, width=64, depth=3, heads=4, mlp_ratio=2.0))
ARTICLE = TRAINING_PRESETS["article"]
SHORT_ARTICLE = replace(ARTICLE, epochs=2, train_images=10_000)  # its recipe, on less
ADAMW_ARTICLE = TrainConfig(model=PRESETS["article"], epochs=2, train_images=10_000, warmup_steps=100)


def with_blocks(base: TrainConfig, depth: int) -> TrainConfig:
    return replace(base, model=replace(base.model, depth=depth))


def variant(name: str, variant_name: str) -> Arm:
    return Arm(name, {"model.variant": variant_name})


PAPER = Arm("as the paper")

# From the first text


FLIPS = Study(
    number=1, id="flips-hurt", title="Do flips hurt on MNIST?",
    claim="Mirroring half of the training digits makes a ViT read MNIST worse.",
    places=(Place("000", "Results Comparison"), Place("000", "Key Insights: Augmentation Hurts on MNIST")),
    settings=(Setting("MNIST", QUICK, 35, 10), Setting("Fashion-MNIST", FASHION, 35, 10),
              Setting("CIFAR-10", CIFAR, 100, 5)),
    arms=(Arm("no flips"), Arm("random flips", {"augmentation": "flips"}),
          Arm("alternating flips", {"augmentation": "alternating-flips"})),
    rules=(
        Above(first="no flips", second="random flips", margin=0.5, visible=1.0, settings=("MNIST",)),
        Above(first="no flips", second="alternating flips", margin=0.5, visible=1.0, settings=("MNIST",),
              decides=False),
        Above(first="random flips", second="no flips", margin=0.5, visible=1.0, decides=False,
              settings=("Fashion-MNIST", "CIFAR-10")),
        Above(first="alternating flips", second="random flips", margin=0.0, visible=0.5, decides=False),
    ),
    readings=("mirrored",),
    caution="Four epochs of a small model; the article trains a larger one for 34 and 49.",
)

BATCH_OF_32 = Computation(
    number=2, id="batch-of-32", title="Is 100 % against 93.75 % a difference?",
    claim="A test accuracy of 100 % without flips against 93.75 % with them shows which model is better.",
    places=(Place("000", "Results Comparison"), Place("000", "Conclusion")),
    rule="holds if luck alone gives either batch of 32 to the other model in fewer than 5 % of cases, going by the "
         "article's own validation accuracies; does not hold here otherwise.",
    compute=computations.spread_of_batches,
    caution="93.75 % is 30 of 32 images, 100 % is 32 of 32: we take it that one batch was judged.",
)

NUMBER_OF_WEIGHTS = Computation(
    number=3, id="number-of-weights", title="Are there 1.2 million weights?",
    claim="The article's model has about 1.2 million weights.",
    places=(Place("000", "Conclusion"),),
    rule="holds if the closed form for its stated shape is within 5 % of 1.2 million; does not hold here otherwise.",
    compute=computations.number_of_weights,
)

COMPILE = Study(
    number=4, id="compile-halves", title="Does torch.compile halve the time?",
    claim="torch.compile halves the time of an epoch.",
    places=(Place("000", "Key Insights: Augmentation Hurts on MNIST"), Place("000", "Results Comparison")),
    settings=(Setting("the article's shape, on a CPU", replace(SHORT_ARTICLE, train_images=3_000, epochs=4), 220, 3),),
    arms=(Arm("not compiled"), Arm("compiled", {"compile": True})),
    rules=(Above(first="not compiled", second="compiled", measure="log2 of seconds an image", margin=0.8,
                 visible=0.3),),
    alone=True,
    caution="On one core of a CPU and in torch.compile's default mode; the article had a GPU and max-autotune. A "
            "logarithm of 1 is a halving. Counted are training steps from the second epoch on; the first epoch, with "
            "the compilation, is kept apart and tells when it pays back.",
)

INITIALISATION = Study(
    number=5, id="initialisation", title="Is truncated-normal initialisation non-negotiable?",
    claim="Without weights from a truncated normal distribution of deviation 0.02, deep training becomes unstable.",
    places=(Place("000", "Key Insights: Augmentation Hurts on MNIST"), Place("000", "Conclusion")),
    settings=(
        Setting("10 blocks, RMSprop at 1e-5", SHORT_ARTICLE, 250, 3),
        Setting("10 blocks, AdamW at 1e-3", ADAMW_ARTICLE, 250, 3),
        Setting("6 blocks, RMSprop at 1e-5", with_blocks(SHORT_ARTICLE, 6), 150, 3),
        Setting("6 blocks, AdamW at 1e-3", with_blocks(ADAMW_ARTICLE, 6), 150, 3),
    ),
    arms=(Arm("truncated normal"), Arm("PyTorch's own", {"initialisation": "pytorch"}),
          Arm("N(0, 1)", {"initialisation": "unit-normal"})),
    rules=(Above(first="truncated normal", second="PyTorch's own", margin=2.0, visible=4.0),
           Above(first="truncated normal", second="N(0, 1)", margin=2.0, visible=4.0)),
    caution="Two epochs of 10,000 images: it shows how training begins, not where it ends.",
)

FIRST_TWO_ARMS = (
    Arm("as stated"), variant("pixels from 0 to 1", "pixels-0-1"), variant("LayerNorm after the sum", "post-norm"),
)
FIRST_TWO_FIGURES = (("training accuracy of epoch 1", 38.29), ("training accuracy of epoch 2", 61.81))
FIRST_TWO_EPOCHS = Study(
    number=6, id="first-two-epochs", title="Under which setting do the first two epochs come out?",
    claim="The article's model reads 38.29 % after its first epoch and 61.81 % after its second.",
    places=(Place("000", "Training Dynamics"),),
    settings=(Setting("55,000 images", replace(ARTICLE, epochs=2), 1_250, 3),
              Setting("20,000 images", replace(SHORT_ARTICLE, train_images=20_000), 480, 3)),
    arms=FIRST_TWO_ARMS,
    rules=tuple(Near(arm=arm.name, measure=measure, figure=figure, within=3.0)
                for arm in FIRST_TWO_ARMS for measure, figure in FIRST_TWO_FIGURES),
    search=True,
    caution="We read the figures as accuracies on the training images, gathered while the epoch ran. That a setting "
            "gives them does not prove that it was theirs.",
)

NORMS = Study(
    number=7, id="norm-before-or-after", title="LayerNorm before the sum, or after it?",
    claim="LayerNorm before attention and MLP trains more stably than after the sum, the more so in deep models.",
    places=(Place("001", "Pre-Norm vs Post-Norm"), Place("000", "Transformer Encoder: Attention and Feed-Forward")),
    settings=tuple(
        Setting(f"{depth} blocks, {'with' if steps else 'no'} warm-up",
                replace(with_blocks(ADAMW_ARTICLE, depth), epochs=3, warmup_steps=steps), seconds, 3)
        for depth, seconds in ((6, 220), (10, 360)) for steps in (0, 100)
    ),
    arms=(Arm("before"), variant("after", "post-norm")),
    rules=(Above(first="before", second="after", margin=0.5, visible=2.0),),
    caution="Three epochs of 10,000 images at one learning rate.",
)

AUGMENTATION = Study(
    number=8, id="no-augmentation", title="Does MNIST need no augmentation?",
    claim="MNIST is so simple and clean that augmentation gains nothing.",
    places=(Place("000", "Key Insights: Augmentation Hurts on MNIST"),),
    settings=(Setting("MNIST", QUICK, 38, 5), Setting("Fashion-MNIST", FASHION, 38, 5),
              Setting("CIFAR-10", CIFAR, 105, 5)),
    arms=(Arm("none"), Arm("flips", {"augmentation": "flips"}),
          Arm("small shifts and turns", {"augmentation": "shifts-and-turns"})),
    rules=(NoWorse(first="none", second="flips", margin=0.2, settings=("MNIST",)),
           NoWorse(first="none", second="small shifts and turns", margin=0.2, settings=("MNIST",)),
           NoWorse(first="none", second="flips", margin=0.2, settings=("Fashion-MNIST", "CIFAR-10"), decides=False),
           NoWorse(first="none", second="small shifts and turns", margin=0.2,
                   settings=("Fashion-MNIST", "CIFAR-10"), decides=False)),
    caution="Augmentation pays in long training; four epochs are in favour of doing without.",
)

MEMORISATION = Study(
    number=9, id="memorisation", title="Do ten blocks memorise?",
    claim="Ten blocks of width 128 have so much capacity that they memorise MNIST easily.",
    places=(Place("000", "Key Insights: Augmentation Hurts on MNIST"),),
    settings=(Setting("5,000 images", replace(ADAMW_ARTICLE, train_images=5_000, epochs=8), 260, 3),),
    arms=tuple(Arm(f"{depth} block{'s' if depth > 1 else ''}", {"model.depth": depth}) for depth in (1, 3, 6, 10)),
    rules=(Above(first="10 blocks", second="1 block", measure="gap", margin=1.0, visible=2.0),
           Between(arm="10 blocks", measure="training accuracy", low=98.0, high=100.0)),
    caution="On 5,000 images, which are easier to memorise than 55,000.",
)

GELU = Computation(
    number=10, id="gelu-by-tanh", title="Is GELU by tanh the same?",
    claim="GELU may as well be computed by a formula with tanh.",
    places=(Place("000", "Transformer Encoder: Attention and Feed-Forward"), Place("001", "GELU Activation")),
    rule="holds if no logit of the shipped model moves by 0.01 and no answer changes on 100 test digits; does not hold "
         "here otherwise.",
    compute=computations.gelu_by_tanh,
)

# From the second


SCALING = Study(
    number=11, id="scaling", title="What does dividing by √d_k do?",
    claim="Dividing by √d_k keeps the variance of the scores at about 1, and training suffers without it.",
    places=(Place("001", "Why the √d_k Scaling?"),
            Place("000", "Transformer Encoder: Attention and Feed-Forward")),
    settings=(Setting("4 heads, d_k = 16", QUICK, 38, 5),
              Setting("1 head, d_k = 64", replace(QUICK, model=replace(QUICK.model, heads=1)), 35, 5)),
    arms=(Arm("divided"), variant("not divided", "no-scaling")),
    rules=(Above(first="divided", second="not divided", margin=0.5, visible=1.0),
           Between(arm="divided", measure="variance of scores at the start", low=0.5, high=2.0),
           Between(arm="divided", measure="variance of scores at the end", low=0.5, high=2.0)),
    readings=("scores",),
)

WHERE_THE_WEIGHTS_ARE = Computation(
    number=12, id="where-the-weights-are", title="Where are the weights?",
    claim="More than 98 % of the weights lie in the blocks, about half of them in attention and half in the MLPs.",
    places=(Place("001", "Parameter Count Breakdown"),),
    rule="by the closed form for the text's model: holds if the blocks have more than 98 % and MLP over attention is "
         "between 0.8 and 1.25; in part if one of these is so; does not hold here otherwise.",
    compute=computations.where_the_weights_are,
)

RESIDUALS = Study(
    number=13, id="residuals", title="Do residuals let gradients through?",
    claim="The identity in z + F(z) lets gradients reach the first blocks, however many there are.",
    places=(Place("001", "The Residual Connection"), Place("004", "architecture")),
    settings=(Setting("3 blocks", QUICK, 38, 5), Setting("10 blocks", DEEP_QUICK, 100, 5)),
    arms=(Arm("with residuals"), variant("without", "no-residuals")),
    rules=(Above(first="with residuals", second="without", margin=2.0, visible=4.0),
           Above(first="with residuals", second="without", measure="log10 of gradients, first block over last",
                 margin=0.5, visible=1.0)),
    readings=("gradients",),
)

CONV2D = Computation(
    number=14, id="conv2d-trick", title="Is the Conv2d trick exact?",
    claim="Cutting patches and multiplying by E is the same as a Conv2d with kernel and stride of a patch.",
    places=(Place("001", "PatchEmbedding: The Conv2d Trick"), Place("003", "From Pixels to Tokens")),
    rule="holds if no embedding of 100 test digits differs by 0.0001; does not hold here otherwise.",
    compute=computations.conv2d_trick,
)

# From the second to the fourth


SIZES = ((100, 40, 40), (300, 30, 35), (1_000, 20, 40), (3_000, 12, 50), (10_000, 6, 70), (55_000, 3, 150))
SMALL = tuple(f"{images:,} images" for images, _, _ in SIZES[:4])
SMALL_DATA = Study(
    number=15, id="small-data", title="Do ViTs need more data than CNNs?",
    claim="On little data a CNN beats a ViT of the same size; with enough, the ViT catches up.",
    places=(Place("002", "Why ViT excels with large datasets"), Place("003", "What This Experiment Revealed"),
            Place("001", "Introduction")),
    settings=tuple(Setting(f"{images:,} images", replace(QUICK, train_images=images, epochs=epochs, batch_size=32),
                           seconds, 5) for images, epochs, seconds in SIZES),
    arms=(Arm("ViT"), variant("CNN", "cnn")),
    rules=(Above(first="CNN", second="ViT", margin=0.5, visible=2.0, settings=SMALL),
           NoWorse(first="ViT", second="CNN", margin=0.5, settings=("55,000 images",)),
           Above(first="CNN", second="ViT", margin=0.5, visible=2.0, settings=("10,000 images", "55,000 images"),
                 decides=False)),
    caution="Both learn at the ViT's learning rate. The images of each size are the same for all seeds, and 55,000 are "
            "few beside what the paper calls large.",
)

# From the fourth


WARM_UP = Study(
    number=16, id="warm-up", title="Does it take warm-up?",
    claim="A ViT converges stably only with warm-up of the learning rate.",
    places=(Place("003", "Training Dynamics and Stability"),),
    settings=(Setting("at 3e-3", QUICK, 35, 5), Setting("at 1e-3", replace(QUICK, learning_rate=1e-3), 35, 5),
              Setting("10 blocks, at 3e-3", DEEP_QUICK, 90, 5)),
    arms=(Arm("with warm-up"), Arm("without", {"warmup_steps": 0})),
    rules=(Above(first="with warm-up", second="without", margin=0.5, visible=1.0),),
)

POSITIONS = Study(
    number=17, id="positions", title="Do positions have to be learned?",
    claim="Attention knows no order, so that a ViT needs positions; learned ones are added to the patches.",
    places=(Place("003", "Restoring Spatial Information"), Place("004", "linear projection of flattened patches")),
    settings=(Setting("MNIST", QUICK, 38, 5),),
    arms=(Arm("learned"), variant("sines", "sine-positions"), variant("none", "no-positions")),
    rules=(Above(first="learned", second="none", margin=1.0, visible=2.0),
           NoWorse(first="sines", second="learned", margin=0.5, decides=False)),
)

LOOKING_FAR = replace(QUICK, model=ViTConfig(width=64, depth=6, heads=4, mlp_ratio=2.0), learning_rate=1e-3)
GLOBAL = Study(
    number=18, id="global-from-the-first-layer", title="Is attention global from the first layer?",
    claim="From the first layer on every patch uses what is far away.",
    places=(Place("003", "Global Context from the First Layer"),),
    settings=(Setting("1,000 images", replace(LOOKING_FAR, train_images=1_000, epochs=30), 110, 5),
              Setting("10,000 images", replace(LOOKING_FAR, train_images=10_000, epochs=6), 100, 5),
              Setting("55,000 images", replace(LOOKING_FAR, train_images=None, epochs=2), 160, 3)),
    arms=(PAPER,),
    rules=(Between(arm=PAPER.name, measure="distance in the first block", low=0.75, high=2.0),
           Between(arm=PAPER.name, measure="distance of the widest head in the first block", low=0.75, high=2.0)),
    readings=("attention",),
    caution="Distances are relative to looking everywhere alike, which is 1. Where attention goes is not all that it "
            "does.",
)

# From the fifth


CLS_OR_MEAN = Study(
    number=19, id="cls-or-mean", title="Is accuracy low without CLS?",
    claim="Without a class token a ViT classifies badly.",
    places=(Place("004", "linear projection of flattened patches"),
            Place("003", "Learning to Classify with a [CLS] Token")),
    settings=(Setting("at 3e-3", QUICK, 38, 5), Setting("at 1e-3", replace(QUICK, learning_rate=1e-3), 38, 5)),
    arms=(Arm("CLS"), variant("mean of the patches", "mean-pooling")),
    rules=(Above(first="CLS", second="mean of the patches", margin=1.0, visible=1.0),),
)

CAUSAL = Study(
    number=20, id="causal-mask", title="What if it were masked as GPT is?",
    claim="A ViT attends without a mask, which is right for it, unlike GPT with its causal mask.",
    places=(Place("004", "key differences from GPT architecture"),),
    settings=(Setting("MNIST", QUICK, 38, 5),),
    arms=(Arm("no mask"), variant("causal, read from CLS", "causal"),
          variant("causal, read from the last patch", "causal-last")),
    rules=(Above(first="no mask", second="causal, read from CLS", margin=5.0, visible=5.0),
           Above(first="no mask", second="causal, read from the last patch", margin=0.5, visible=1.0)),
    caution="CLS stands first, so that a causal mask leaves it blind: only the last patch is a fair reading.",
)

CATALOGUE: dict[str, Study | Computation] = {study.id: study for study in (
    FLIPS, BATCH_OF_32, NUMBER_OF_WEIGHTS, COMPILE, INITIALISATION, FIRST_TWO_EPOCHS, NORMS, AUGMENTATION, MEMORISATION,
    GELU, SCALING, WHERE_THE_WEIGHTS_ARE, RESIDUALS, CONV2D, SMALL_DATA, WARM_UP, POSITIONS, GLOBAL, CLS_OR_MEAN,
    CAUSAL,
)}
