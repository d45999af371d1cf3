"""What the scripted engineer knows: two changes of the playbook's attention output that its space does not hold.

Each is a function of the source alone, and gives the source back where it has nothing to change.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_STAGE = re.compile(r"/\* Puts x into the order[^\n]*\nstatic void stage\(.*?\n}\n\n?", re.DOTALL)
_STAGE_INPUT = re.compile(r"static void stage_input\(.*?\n}\n", re.DOTALL)
_SHUFFLES = """\
/* bf16 activations into the order that the weights come in: lane j of vector k gets element 4 * j + k of its unit. */
static void stage_input(const uint16_t *restrict a, float *restrict staged)
{
    const __m256 scale = _mm256_set1_ps(X_SCALE);
    const __m256i high = _mm256_set1_epi32((int)0xffff0000u);
@share@    for (int unit = 0; unit < HEADS * HEAD_DIM; unit += UNIT) {
        const __m256 low = _mm256_castsi256_ps(_mm256_loadu_si256((const __m256i *)(a + unit)));
        const __m256 top = _mm256_castsi256_ps(_mm256_loadu_si256((const __m256i *)(a + unit + 16)));
        for (int half = 0; half < 2; half++) {
            const __m256 mixed = half ? _mm256_shuffle_ps(low, top, 0xdd) : _mm256_shuffle_ps(low, top, 0x88);
            const __m256i pair = _mm256_permute4x64_epi64(_mm256_castps_si256(mixed), 0xd8);
            const __m256 even = _mm256_castsi256_ps(_mm256_slli_epi32(pair, 16));
            const __m256 odd = _mm256_castsi256_ps(_mm256_and_si256(pair, high));
            _mm256_store_ps(staged + unit + 16 * half, _mm256_mul_ps(even, scale));
            _mm256_store_ps(staged + unit + 16 * half + 8, _mm256_mul_ps(odd, scale));
        }
    }
}
"""


def without_threads(source: str) -> str:
    """The same work by the calling thread alone: where a call takes microseconds, starting a region takes as long."""
    return re.sub(r"^[ \t]*#pragma omp [^\n]*\n", "", source, flags=re.MULTILINE)


def staged_by_shuffles(source: str) -> str:
    """Activations are widened and put in decoding order by shuffles, in one pass; element by element in two before.

    Only of the AVX2 decode by 16-bit lanes, whose order of elements this is, and of rows of whole units.
    """
    if "staged_from(int i) { return 4 * (i % 8) + i / 8; }" not in source or "__m256 top" in source:
        return source
    stages = _STAGE.findall(source)
    if len(stages) != 1 or len(_STAGE_INPUT.findall(source)) != 1:
        return source
    # Where threads filled a part each, they go on doing so.
    share = "".join(f"{line}\n" for line in stages[0].splitlines() if line.lstrip().startswith("#pragma omp for"))
    return _STAGE_INPUT.sub(lambda _match: _SHUFFLES.replace("@share@", share), _STAGE.sub("", source))


LEVERS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("no parallel region", without_threads),
    ("activations staged by shuffles", staged_by_shuffles),
)
