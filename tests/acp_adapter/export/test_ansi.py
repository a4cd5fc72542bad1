"""Terminal output as HTML."""

from acp_adapter.export.markup import coloured
from tests.support.each import each


@each(
    ("output", "made"),
    [
        ("plain <b> & \n", "plain &lt;b&gt; &amp; \n"),
        ("\x1b[31mred\x1b[0m rest", '<span class="f1">red</span> rest'),
        ("\x1b[1;4;92;41mx\x1b[m", '<span class="b u f10 g1">x</span>'),
        ("\x1b[1;2;3mx\x1b[22my\x1b[23mz", '<span class="b d i">x</span><span class="i">y</span>z'),
        ("\x1b[33;44ma\x1b[39mb\x1b[49mc", '<span class="f3 g4">a</span><span class="g4">b</span>c'),
        (
            "\x1b[38;5;9ma\x1b[38;5;196mb\x1b[38;5;232mc",
            '<span class="f9">a</span><span class="f9">b</span><span class="f0">c</span>',
        ),
        ("\x1b[38;2;0;200;0mx\x1b[48:2:255:255:255my", '<span class="f2">x</span><span class="f2 g15">y</span>'),
        ("10%\r50%\r100%\r\nnext", "100%\nnext"),
        ("\x1b]0;title\x07a\x1b[?25lb\x1b(Bc", "abc"),
        ("\x1b[31;999;1mx", '<span class="b f1">x</span>'),
        ("\x1b[38mx\x1b[38;5my\x1b[38;2;1mz", "xyz"),
        ("\x1b[38:2::250:0:0mx", '<span class="f9">x</span>'),
    ],
)
def test_colours_become_classes_and_other_sequences_nothing(output, made):
    assert coloured(output) == made
