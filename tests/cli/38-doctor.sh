# doctor: what there is, and how to get what is missing; --version names the build.
run doctor
exits 0
prints "processor "
prints "training     CPU, "
prints "libraries    zlib "
prints "data sets "
quiet
VARGATE_CPU=portable run doctor
exits 0
prints "portable kernels"
run doctor --json
exits 0
prints '"command": "doctor"'
run doctor FILE
exits 2
says "there is nothing to read"
run doctr
exits 2
says "did you mean 'doctor'?"
run --version
exits 0
prints "CUDA"
run --versoin
exits 2
says "did you mean '--version'?"
