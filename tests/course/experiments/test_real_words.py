"""Real words: counting and training use the same pairs, and both are scored in the same way."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F

from course.data.kingdom import kingdom_text
from course.lessons.skipgram import real_words
from course.lessons.skipgram.block_skipgram import train_in_blocks
from course.lessons.skipgram.shifted_pmi import cooccurrences, fits, shifted_pmi, svd_vectors

SHORT = kingdom_text()[:30_000]


@pytest.fixture(scope="module")
def words():
    return real_words.words_of(SHORT)


def test_pairs_count_as_much_as_the_training_weighs_them():
    """All places where blocks may begin, and in each the pairs within blocks, one by one."""
    n_words, block, window = 400, 8, 3
    ids = torch.randint(5, (n_words,), generator=torch.Generator().manual_seed(0))
    met = torch.zeros(5, 5)
    for start in range(block):
        for begin in range(start, n_words - block + 1, block):
            for i, j in itertools.permutations(range(begin, begin + block), 2):
                if abs(i - j) <= window:
                    met[ids[i], ids[j]] += (1 - (abs(i - j) - 1) / window) / block
    counted = cooccurrences(ids, 5, window, block)
    torch.testing.assert_close(counted, counted.T)
    # at the ends of the text the training leaves out less than a block, on either side
    torch.testing.assert_close(counted, met, rtol=0.1, atol=2 * block)
    assert met.sum() < counted.sum() < 1.04 * met.sum()


def test_at_pmi_minus_log_k_the_expected_loss_is_lowest():
    together = torch.rand(6, 6, dtype=torch.float64) + 0.1
    noise, k = torch.rand(6, dtype=torch.float64).softmax(0), 5
    scores = shifted_pmi(together, noise, k).requires_grad_()
    drawn = k * together.sum(1, keepdim=True) * noise
    (-(together * F.logsigmoid(scores)) - drawn * F.logsigmoid(-scores)).sum().backward()
    torch.testing.assert_close(scores.grad, torch.zeros_like(scores))


def test_pmi_is_zero_where_words_meet_by_chance_and_minus_infinite_where_they_never_do():
    shares = torch.tensor([0.5, 0.3, 0.2])
    by_chance = 100 * shares[:, None] * shares
    torch.testing.assert_close(shifted_pmi(by_chance, shares, 1), torch.zeros(3, 3))
    torch.testing.assert_close(shifted_pmi(by_chance, shares, 5), torch.full((3, 3), -math.log(5)))
    by_chance[0, 1] = 0
    assert shifted_pmi(by_chance, shares)[0, 1] == -torch.inf


def test_the_svd_is_the_best_of_its_rank_and_repeats_itself():
    scores = torch.randn(40, 40, generator=torch.Generator().manual_seed(0))
    scores = scores + scores.T  # so that both sides have like vectors
    scores[3, 4] = scores[4, 3] = -torch.inf
    torch.manual_seed(1)
    rows, drawn = svd_vectors(scores, 6), torch.rand(1)
    torch.manual_seed(1)
    assert torch.equal(drawn, torch.rand(1))  # the global generator was left alone
    assert torch.equal(rows, svd_vectors(scores, 6))
    left, strengths, _ = torch.linalg.svd(scores.clamp(min=0))
    wanted = left[:, :6] * strengths[:6].sqrt()
    torch.testing.assert_close(rows @ rows.T, wanted @ wanted.T, rtol=0, atol=0.2)
    torch.testing.assert_close(rows[:, 0].abs(), wanted[:, 0].abs(), rtol=1e-3, atol=1e-3)
    assert svd_vectors(scores[:4, :4], 3).shape == (4, 3)


def test_pairs_are_compared_by_how_often_they_meet():
    together = torch.tensor([0.0, 1.0, 1.9, 2.0, 3.0, 4.0])
    wanted = torch.tensor([-torch.inf, 1.0, 2.0, 1.0, 2.0, 3.0])
    scores = torch.tensor([9.0, 2.0, 1.0, 1.5, 2.5, 3.5])
    seldom, often = fits(scores, wanted, together, edges=(2,))
    assert (seldom.at_least, seldom.n_pairs, often.at_least, often.n_pairs) == (0, 2, 2, 3)
    assert (seldom.correlation, often.correlation) == pytest.approx((-1, 1))
    assert (seldom.distance, often.distance) == pytest.approx((1, 0.5))


def test_tables_after_some_epochs_are_those_of_a_training_that_ends_there(words):
    tables = real_words.trained(words, (1, 3), seed=2, n_embd=4)
    assert [*tables] == [1, 3] and 0 < tables[1].seconds < tables[3].seconds
    for n_epochs, found in tables.items():
        generator = torch.Generator().manual_seed(2)
        alone = train_in_blocks(words.ids, words.counts, 4, epochs=n_epochs, generator=generator)
        torch.testing.assert_close((found.center, found.context), alone, rtol=0, atol=0)


@pytest.mark.slow
def test_with_features_enough_scores_come_to_rest_at_pmi_minus_log_5(words):
    """And not at PMI: the mean difference from that is log 5."""
    (tables,) = real_words.trained(words, (60,), n_embd=100, blocks_per_step=8).values()
    scores, wanted, together = real_words.against_pmi(words, tables.center, tables.context)
    often = fits(scores, wanted, together)[-1]
    assert often.correlation > 0.95 and often.distance < 0.4
    mean = (wanted - scores)[together >= 20].mean().item()
    assert abs(mean) < 0.15
    few = real_words.trained(words, (20,), n_embd=4, blocks_per_step=8)[20]
    worse = fits(*real_words.against_pmi(words, few.center, few.context))[-1]
    assert worse.distance > 1.5 * often.distance


def test_tokens_are_those_of_the_text_from_frequent_to_rare():
    text = "The king's sword.\nThe queen's sword.\n"
    tokens = real_words.tokens_of(text)
    assert "".join(tokens.words[one] for one in tokens.ids) == text
    assert torch.equal(tokens.ids.bincount(), tokens.counts)
    assert tokens.counts.tolist() == sorted(tokens.counts.tolist(), reverse=True)
    assert tokens.counts.min() >= 1


def test_analogies_are_asked_only_of_words_that_are_there():
    square = torch.tensor([[1.0, 0.0], [1.0, 1.0], [-1.0, 0.0], [-1.0, 1.0]])
    names = ["man", "king", "woman", "queen"]
    asked = [names, ["man", "king", "woman", "duchess"], ["man", "king", "queen", "woman"]]
    assert real_words.n_right(square, names, asked) == (1 + 1, 2)  # the only word that is left
    assert real_words.n_right(square, names, asked[1:2]) == (0, 0)


def test_every_way_makes_rows_that_know_the_company_of_words(words):
    """In the kingdom a prince keeps the company of a king; of random rows one in a hundred does."""
    king, prince = words.words.index("king"), words.words.index("prince")
    ways = real_words.every_way(words)
    assert [*ways][:3] == [f"skip-gram, {n}" for n in ("1 epoch", "3 epochs", "10 epochs")]
    for way in ("skip-gram, 10 epochs", "SVD of PPMI"):
        units = F.normalize(ways[way][0], dim=1)
        assert prince in (units @ units[king]).topk(6).indices, way
    assert real_words.shared_neighbors(ways["SVD of PPMI"][0], ways["SVD of PPMI"][0]) == 1
    by_chance = torch.randn(2, len(words.words), 64)
    both = ways["SVD of PPMI"][0], ways["skip-gram, 10 epochs"][0]
    shared = real_words.shared_neighbors(*both)
    assert shared > 2 * real_words.shared_neighbors(*by_chance)


@pytest.mark.slow
def test_shakespeare_s_words_give_the_figures_of_the_notebook(real_data):
    text = (real_data / "tinyshakespeare.txt").read_text(encoding="utf-8")
    words, tokens = real_words.words_of(text), real_words.tokens_of(text)
    assert (len(words.ids), len(words.words), len(tokens.words)) == (188_851, 3330, 3647)
    tables = real_words.trained(words, (10,))[10]
    scores, wanted, together = real_words.against_pmi(words, tables.center, tables.context)
    seldom, _, often = fits(scores, wanted, together)
    assert (seldom.correlation, often.correlation) == pytest.approx((0.24, 0.93), abs=0.03)
    assert len(together) / 3330**2 == pytest.approx(0.05, abs=0.001)
    assert (wanted > 0).double().mean() == pytest.approx(1 / 3, abs=0.02)  # two thirds are cut
    counted, _ = real_words.counted_vectors(words)
    shared = real_words.shared_neighbors(tables.center, counted)
    assert shared == pytest.approx(0.22, abs=0.02)
