export GOMPY_PLUGINS=python GOMPY_PYTHON_DEVICE=gompy.virtual:Swap
mkfifo lines
./relax 400 <lines &
exec 3>lines
until gompy device swap $! 0 memory 2>/dev/null || ! kill -0 $!; do sleep 0.1; done
echo >&3
gompy device swap $! 0 intelmic
exec 3>&-
wait
