"""The whole story on a sandbox: plan, deploy, env, no changes, a crash and its repair, teardown, nothing left."""
