# %% [markdown]
# # 7. Can a model read further than it was trained?

# %%
from course.student.notebook import exercises

longer = exercises("longer")
