"""(b) Resolving 1,000 files, against parsing them with PyYAML's C loader alone. Goal: 2 at most."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import yaml

from agentbreeder_resolver import resolve_path

FILES, RUNS = 1000, 5
AGENT = """
name: support-agent-{n}
version: 1.0.0
description: "Handles tier-1 customer support inquiries: order status, returns, refunds, and account issues."
team: customer-success
owner: support-eng@company.com
tags: [support, zendesk, tier-1, production]
model:
  primary: claude-sonnet-4
  fallback: gpt-4o
  temperature: 0.3
  max_tokens: 2048
framework: langgraph
tools:
  - ref: tools/zendesk-mcp
  - ref: tools/order-lookup
  - name: escalate_ticket
    type: function
    description: "Escalate an unresolved ticket to the human support queue with a summary"
    schema:
      type: object
      properties:
        ticket_id: {{type: string, description: Zendesk ticket ID}}
        reason: {{type: string, description: Why the ticket cannot be resolved automatically}}
        priority: {{type: string, enum: [low, normal, high, urgent]}}
      required: [ticket_id, reason, priority]
knowledge_bases:
  - ref: kb/return-policy
  - ref: kb/product-docs
prompts: {{system: prompts/support-system-v3}}
guardrails: [pii_detection, content_filter]
memory:
  backend: postgresql
deploy:
  cloud: aws
  runtime: ecs-fargate
  region: us-east-1
  scaling: {{min: 2, max: 20, target_cpu: 65}}
  resources: {{cpu: "1", memory: "2Gi"}}
  env_vars:
    LOG_LEVEL: info
    AWS_VPC_SUBNETS: subnet-1,subnet-2
    AWS_SECURITY_GROUPS: sg-1
  secrets: [ZENDESK_API_KEY, INTERNAL_ORDER_API_KEY]
access: {{visibility: team, allowed_callers: ["team:engineering"], require_approval: false}}
"""


def resolve_speed() -> None:
    """Both read the files from disk; interleaved."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{n}.yaml" for n in range(FILES)]
        for n, path in enumerate(paths):
            path.write_text(AGENT.format(n=n))
        ratios, ours = [], []
        for _ in range(RUNS):
            started = time.perf_counter()
            for path in paths:
                yaml.load(path.read_text(), Loader=yaml.CSafeLoader)
            parsed = time.perf_counter() - started
            started = time.perf_counter()
            for path in paths:
                resolve_path(path)
            ours.append(time.perf_counter() - started)
            ratios.append(ours[-1] / parsed)
    print(
        f"resolve {FILES} files: median {statistics.median(ours) * 1000:.0f} ms   ratio {statistics.median(ratios):.2f}"
    )
