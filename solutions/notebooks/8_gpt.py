# %% [markdown]
# # 8. What is left to write, once a model knows what and where?

# %%
from course.student.notebook import exercises

gpt = exercises("gpt")
