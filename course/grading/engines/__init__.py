"""Other people's engines that grade with this course: a cluster, Gradescope, GitHub Classroom."""
