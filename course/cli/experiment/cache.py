"""`course experiment cache`."""

import dataclasses

import click

from course.cli.experiment.shared import a_seed, on_one_line, print_borrowed


@click.command(short_help="Load a checkpoint with interleaved pairs, and use a cache.")
@a_seed
def cache(seed: int) -> None:
    """Load a checkpoint with interleaved pairs, and read and write with a key/value cache.

    The checkpoint is a small character model with interleaved RoPE, which is trained in about ten
    seconds and then saved. Your interleaved_to_half converts its weights, and your RotaryEmbedding
    rotates its queries and keys. You also see what happens without either of them.

    \b
    Example:
      course experiment cache
    """
    import torch

    from course.data.corpus import load_corpus
    from course.experiments import cached
    from course.experiments.character_gpt import ALWAYS
    from course.experiments.training import QUICK, sources

    torch.set_num_threads(1)  # products this small are not worth sharing
    corpus, settings = load_corpus(), dataclasses.replace(QUICK, seed=seed)
    published = cached.checkpoint(settings, corpus.text)
    prompt = published.tokenizer.decode(published.held_out_ids[: cached.PROMPT])
    click.echo(
        f"\nA checkpoint trained on {corpus.name} with interleaved RoPE, seed {seed}, reads "
        f"{cached.PROMPT} characters\nat once and {cached.CONTEXT - cached.PROMPT} more one by "
        "one, with a cache. Its loss on held-out text, in nats\nper character, and how it "
        f"continues {on_one_line(prompt)!r}:\n"
    )
    for way, (loss, text) in cached.read_in_every_way(published).items():
        click.echo(f"{way:<18}{loss:>6.2f}   {on_one_line(text)}")
    found = cached.with_and_without_cache(published)
    differ = f"they differ at character {(found.differ or 0) + 1}"
    click.echo(
        f"\n{found.n_tokens} more characters, with and without the cache: "
        f"{'both are the same' if found.differ is None else differ}.\n"
        f"Largest difference between logits: {found.largest:.1e}. Seconds: "
        f"{found.seconds[0]:.2f} with the cache, {found.seconds[1]:.2f} without."
    )
    print_borrowed(sources((*ALWAYS, "interleaved_to_half", "RotaryEmbedding")))
