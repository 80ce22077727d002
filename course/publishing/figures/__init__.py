"""The figures of the course: a function each, from plain data to a picture.

    from course.publishing import figures

    figures.position_table(pe)          the last line of a notebook's cell: the picture is shown
    figures.position_table(pe).png()    the same as an image
    figures.position_table(pe).alt      the same in words

Nothing here computes what a lesson asks for: a figure draws what your own code made. Those of the
notebooks are listed here; those of a lesson's text are in its room, as `figures.py`.
"""

from course.publishing.figures.notebooks.learned import token_position_sum
from course.publishing.figures.notebooks.longer import (
    bucket_of_distance,
    frequency_ratios,
    score_by_distance,
)
from course.publishing.figures.notebooks.lookup import one_hot_times_table, row_gradients
from course.publishing.figures.notebooks.permutation import shuffle_panels
from course.publishing.figures.notebooks.rope import (
    alibi_heads,
    scores_under_shift,
    turned_pairs,
    wavelengths,
)
from course.publishing.figures.notebooks.shared import (
    attention_weights,
    loss_curve,
    losses_by_length,
    matrices,
)
from course.publishing.figures.notebooks.sinusoidal import (
    clock_hands,
    dot_against_offset,
    position_table,
    similarity_of_positions,
    wave_columns,
)
from course.publishing.figures.notebooks.skipgram import (
    analogy_arrows,
    neighbors_by_cosine,
    scores_against_pmi,
    word_map,
    word_maps,
)
from course.publishing.figures.picture import Picture

__all__ = [
    "Picture",
    "alibi_heads",
    "analogy_arrows",
    "attention_weights",
    "bucket_of_distance",
    "clock_hands",
    "dot_against_offset",
    "frequency_ratios",
    "loss_curve",
    "losses_by_length",
    "matrices",
    "neighbors_by_cosine",
    "one_hot_times_table",
    "position_table",
    "row_gradients",
    "score_by_distance",
    "scores_against_pmi",
    "scores_under_shift",
    "shuffle_panels",
    "similarity_of_positions",
    "token_position_sum",
    "turned_pairs",
    "wave_columns",
    "wavelengths",
    "word_map",
    "word_maps",
]
