"""Secrets Manager as AWS behaves: narrow names, and a recovery window that holds the name and then ends."""

from __future__ import annotations

import re
from typing import Any

from .world import ACCOUNT, Due, Patches, World

_NAME = re.compile(r"[A-Za-z0-9/_+=.@-]{1,512}")
_DAY_S = 86_400.0
_DEFAULT_WINDOW_DAYS = 30
_SERVICE = "secretsmanager"


def install(world: World, patches: Patches) -> None:
    """Patch moto's Secrets Manager backend."""
    _install_create(patches)
    _install_changes(patches)
    _install_window(world, patches)


def finish(world: World, due: Due) -> None:
    """The recovery window of a secret is over: it is gone for good."""
    from moto.secretsmanager.models import secretsmanager_backends

    secrets = secretsmanager_backends[ACCOUNT][due.region].secrets
    secret = secrets.get(due.name)
    if secret is not None and secret.is_deleted():
        secrets.pop(due.name)


def _install_create(patches: Patches) -> None:
    from moto.secretsmanager.exceptions import InvalidRequestException, ValidationException
    from moto.secretsmanager.models import SecretsManagerBackend

    def create_secret(self: Any, name: str, *args: Any, **kw: Any) -> Any:
        if not _NAME.fullmatch(name):
            raise ValidationException(
                "Invalid name. Must be a valid name containing alphanumeric characters, or any of the following: "
                "-/_+=.@!"
            )
        secret = self.secrets.get(name)
        if secret is not None and secret.is_deleted():
            raise InvalidRequestException(
                "You can't create this secret because a secret with this name is already scheduled for deletion."
            )
        return create(self, name, *args, **kw)

    create = patches.replace(SecretsManagerBackend, "create_secret", create_secret)


def _install_changes(patches: Patches) -> None:
    from moto.secretsmanager.exceptions import InvalidRequestException
    from moto.secretsmanager.models import SecretsManagerBackend

    def refuse_deleted(backend: Any, secret_id: str) -> None:
        secret = backend.secrets.get(secret_id)
        if secret is not None and secret.is_deleted():
            raise InvalidRequestException(
                "You can't perform this operation on the secret because it was marked for deletion."
            )

    def put_secret_value(self: Any, secret_id: str, *args: Any, **kw: Any) -> Any:
        refuse_deleted(self, secret_id)
        return put(self, secret_id, *args, **kw)

    def update_secret(self: Any, secret_id: str, *args: Any, **kw: Any) -> Any:
        refuse_deleted(self, secret_id)
        return update(self, secret_id, *args, **kw)

    def tag_resource(self: Any, arn: str, tags: Any) -> None:
        refuse_deleted(self, arn)
        tag(self, arn, tags)

    def untag_resource(self: Any, arn: str, tag_keys: Any) -> None:
        refuse_deleted(self, arn)
        untag(self, arn, tag_keys)

    put = patches.replace(SecretsManagerBackend, "put_secret_value", put_secret_value)
    update = patches.replace(SecretsManagerBackend, "update_secret", update_secret)
    tag = patches.replace(SecretsManagerBackend, "tag_resource", tag_resource)
    untag = patches.replace(SecretsManagerBackend, "untag_resource", untag_resource)


def _install_window(world: World, patches: Patches) -> None:
    from moto.secretsmanager.models import SecretsManagerBackend

    def delete_secret(
        self: Any, secret_id: str, recovery_window_in_days: int | None, force_delete_without_recovery: bool
    ) -> Any:
        answer = delete(self, secret_id, recovery_window_in_days, force_delete_without_recovery)
        name = answer[1]
        world.give_up(_SERVICE, self.region_name, name)
        if not force_delete_without_recovery:
            days = recovery_window_in_days or _DEFAULT_WINDOW_DAYS
            world.begin(_SERVICE, self.region_name, name, (days * _DAY_S, ""))
        return answer

    def restore_secret(self: Any, secret_id: str) -> Any:
        answer = restore(self, secret_id)
        world.give_up(_SERVICE, self.region_name, answer[1])
        return answer

    delete = patches.replace(SecretsManagerBackend, "delete_secret", delete_secret)
    restore = patches.replace(SecretsManagerBackend, "restore_secret", restore_secret)
