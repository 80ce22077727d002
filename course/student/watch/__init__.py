"""The loop of `course`: an exercise is shown, and tested each time its file is saved.

`loop` sees what is saved and pressed, `task` is what the warm process does with a save, `saves`
looks at the files, and `words` and `text` make what is shown.
"""
