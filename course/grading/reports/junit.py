"""The results of a class as JUnit's XML, which most tools for continuous integration read.

A suite is one lesson of one student, a case in it one exercise. What is wrong is a failure; what
is to do is skipped, since nothing has gone wrong yet; what could not be tested is an error.
"""

from collections import Counter
from xml.etree import ElementTree

from course.grading.class_file.grades import Grades
from course.grading.names import printable
from course.grading.reports.message import notes_for_student, plain_message
from course.syllabus import Status
from course.testing.result import ExerciseResult, LessonResult

_ELEMENT = {Status.WRONG: "failure", Status.TO_DO: "skipped", Status.NOT_RUN: "error"}


def junit_xml(grades: Grades) -> str:
    """Return the text of the file, of what was judged; valid whatever the messages hold."""
    root = ElementTree.Element("testsuites", name="What and Where")
    for result in grades.results:
        root.append(_suite(result))
    ElementTree.indent(root, " ")
    body = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _suite(result: LessonResult) -> ElementTree.Element:
    outcomes = Counter(exercise.status for exercise in result.exercises)
    suite = ElementTree.Element(
        "testsuite",
        name=printable(f"{result.student}: {result.lesson}"),
        tests=str(len(result.exercises)),
        failures=str(outcomes[Status.WRONG]),
        errors=str(outcomes[Status.NOT_RUN]),
        skipped=str(outcomes[Status.TO_DO]),
        time=f"{result.seconds:.3f}",
    )
    properties = ElementTree.SubElement(suite, "properties")
    facts = {"student": printable(result.student), "points": result.points, "of": result.worth}
    for name, value in facts.items():
        ElementTree.SubElement(properties, "property", name=name, value=str(value))
    for note in notes_for_student(result):
        ElementTree.SubElement(properties, "property", name="note", value=printable(note))
    for exercise in result.exercises:
        suite.append(_case(result, exercise))
    return suite


def _case(result: LessonResult, exercise: ExerciseResult) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname=result.lesson, name=exercise.name)
    if exercise.status != Status.PASSED:
        text = plain_message(result, exercise)
        first_words = " ".join(text.partition("\n\n")[0].split())
        told = ElementTree.SubElement(case, _ELEMENT[exercise.status], message=first_words)
        told.text = text
    return case
