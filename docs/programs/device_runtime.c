int __kmpc_target_init (void *environment, void *launch) { return -1; }
void __kmpc_target_deinit (void) {}
