"""What is examined, and what mends it: a bot at a scripted table over the real pipes, and the host with its boxes.

Prints nothing and must not know click: `arena check` prints an examination's steps, `arena run` looks at each bot
before it plays, `arena doctor` prints what the host has. `causes` tells the mistake behind a fault from its traces.
"""

from arena.examine.beside import side_by_side
from arena.examine.causes import CAUSES, Advice, Evidence, advice
from arena.examine.doctor import Host, boxes, findings, languages
from arena.examine.exam import BUILD_S, HELLO_S, KEY, Exam, Examination, examine, quick_look
from arena.examine.finding import Finding, Level
from arena.examine.scripted_table import Patience, kinds
from arena.examine.several import examine_all
from arena.examine.step import Examinations, Examined, Step, StepView
