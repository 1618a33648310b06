"""The process of `answering`: learners in threads who answer as a page does, and say what was acknowledged."""

import os
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from quizzes import PredictQuestion, load_questions
from quizzes.progress.progress import Progress, ProgressError

CLASS = 30


def main(url: str, think_s: str, seconds: str) -> None:
    progress = Progress(url)
    progress.answers(progress.new_key())  # opened and migrated, as in a server that has been asked once
    questions = [one for one in load_questions() if not isinstance(one, PredictQuestion)]
    end = time.monotonic() + float(seconds)

    def learner(number: int) -> None:
        rng, key = random.Random(number), progress.new_key()
        for turn in range(10**9):
            time.sleep(rng.uniform(0, 2 * float(think_s)))
            if time.monotonic() >= end:
                return
            question, submission = rng.choice(questions), f"{key}-{turn}"
            given = rng.choice([question.right(), *question.wrong()])
            start = time.perf_counter()
            try:
                grade = question.grade(given)
                progress.answer(
                    key,
                    question.id,
                    given,
                    is_correct=grade.is_correct,
                    idea=question.idea,
                    submission=submission,
                )
                _say(f"kept {key} {submission} {time.perf_counter() - start}")
            except ProgressError as error:
                _say(f"refused {key} {submission} {error}")

    with ThreadPoolExecutor(CLASS) as threads:
        list(threads.map(learner, range(CLASS)))
    progress.close()


def _say(line: str) -> None:
    """One line, in one write: a killed process has said all of it or is cut at the end."""
    os.write(1, f"{line}\n".encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
