offload run
info locals
break halves.c:24
continue
info offload
offload print data
offload print rounds
offload host
print rounds
continue
