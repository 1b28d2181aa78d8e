"""What is inside a flexible server: databases, and the server parameters with `azure.extensions` among them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ..front import Answer
from .operations import postgres_answer, start
from .pg_servers import BUILT_IN_DATABASES, KIND, occupy, server_of
from .schemas import check
from .wire import Call, Refused, Route, get_resource, lister, not_found
from .world import Resource, World

_PACKAGE = "postgresqlflexibleservers"
_DATABASE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,62}")
EXTENSIONS = (
    "address_standardizer,address_standardizer_data_us,age,amcheck,azure_ai,azure_storage,bloom,btree_gin,btree_gist,"
    "citext,cube,dblink,dict_int,dict_xsyn,earthdistance,fuzzystrmatch,hstore,hypopg,intagg,intarray,isn,lo,login_hook,"
    "ltree,orafce,pageinspect,pg_buffercache,pg_cron,pg_diskann,pg_freespacemap,pg_hint_plan,pg_partman,pg_prewarm,"
    "pg_repack,pg_squeeze,pg_stat_statements,pg_trgm,pg_visibility,pgaudit,pgcrypto,pglogical,pgrouting,pgrowlocks,"
    "pgstattuple,plpgsql,plv8,postgis,postgis_raster,postgis_sfcgal,postgis_tiger_geocoder,postgis_topology,"
    "postgres_fdw,semver,sslinfo,tablefunc,timescaledb,tsm_system_rows,tsm_system_time,unaccent,uuid-ossp,vector"
)
_PARAMETERS: Mapping[str, dict[str, Any]] = {
    "azure.extensions": {
        "value": "",
        "description": "Specifies which extensions are allowed to be created in the server.",
        "defaultValue": "",
        "dataType": "Set",
        "allowedValues": f",{EXTENSIONS}",  # it starts with a comma (recordings, pg_azure_extensions_entry)
        "isDynamicConfig": True,
        "documentationLink": "https://go.microsoft.com/fwlink/?linkid=2274269",
    },
    "lock_timeout": {
        "value": "0",
        "description": "Sets the maximum allowed duration (in milliseconds) of any wait for a lock. 0 turns this off.",
        "defaultValue": "0",
        "dataType": "Integer",
        "allowedValues": "0-2147483647",
        "isDynamicConfig": True,
        "unit": "milliseconds",
        "documentationLink": "https://www.postgresql.org/docs/17/runtime-config-client.html",
    },
    "shared_preload_libraries": {
        "value": "pg_cron,pg_stat_statements",
        "description": "Sets the shared libraries to be preloaded into the server.",
        "defaultValue": "pg_cron,pg_stat_statements",
        "dataType": "Set",
        "allowedValues": "age,auto_explain,azure_storage,pg_cron,pg_partman_bgw,pg_stat_statements,pgaudit,timescaledb",
        "isDynamicConfig": False,
        "documentationLink": "https://www.postgresql.org/docs/17/runtime-config-client.html",
    },
    "server_version": {
        "value": "17.6",
        "description": "Shows the server version.",
        "defaultValue": "17.6",
        "dataType": "String",
        "allowedValues": "",
        "isDynamicConfig": False,
        "isReadOnly": True,
        "documentationLink": "https://www.postgresql.org/docs/17/runtime-config-preset.html",
    },
}


def _put_database(world: World, call: Call) -> Answer:
    check(call.body, _PACKAGE, "Database")
    server, name = server_of(world, call), call.names["database"]
    if not _DATABASE_NAME.fullmatch(name) or name in BUILT_IN_DATABASES:
        raise _invalid(f"databaseName '{name}'")
    given = call.body.get("properties") or {}
    charset = str(given.get("charset") or "UTF8").upper()
    collation = str(given.get("collation") or "en_US.utf8")
    existing = world.find(call.id)
    if existing and existing.properties != {"charset": charset, "collation": collation}:
        raise _invalid("charset or collation")
    seconds = world.durations.pg_database_s
    occupy(world, server, seconds)

    def made() -> None:
        document = {
            "properties": {"charset": charset, "collation": collation},
            "id": call.id,
            "name": name,
            "type": f"{KIND}/databases",
        }
        world.put(Resource(id=call.id, document=document, born=world.now()))
        if world.plane is not None:
            world.plane.database(server.id, name)

    kind, location = "UpsertServerDatabaseManagementOperation", _place(server)
    return postgres_answer(world, start(world, kind, location, seconds, made, result=call.id), call)


def _delete_database(world: World, call: Call) -> Answer:
    server = server_of(world, call)
    if world.find(call.id) is None:
        return Answer(status=204)
    if call.names["database"] in BUILT_IN_DATABASES:
        raise _invalid(f"databaseName '{call.names['database']}'")
    seconds = world.durations.pg_database_s
    occupy(world, server, seconds)
    kind, location = "DropServerDatabaseManagementOperation", _place(server)
    operation = start(world, kind, location, seconds, lambda: world.remove(call.id))
    return postgres_answer(world, operation, call)


def _get_database(world: World, call: Call) -> Answer:
    server_of(world, call)
    return get_resource(world, call)


def _place(server: Resource) -> str:
    return str(server.document["location"]).replace(" ", "").lower()


def _invalid(name: str) -> Refused:
    message = f"Invalid value given for parameter {name}. Specify a valid parameter value."
    return Refused(400, "InvalidParameterValue", message)


def parameter(server: Resource, name: str) -> dict[str, Any] | None:
    """One server parameter as GET shows it, None when the server has none of that name."""
    found = _PARAMETERS.get(name)
    if found is None:
        return None
    value = server.hidden["settings"].get(name)
    properties = {"isReadOnly": False, "isConfigPendingRestart": False, **found, "source": "system-default"}
    if value is not None:
        properties.update(value=value[0], source="user-override")
        properties["isConfigPendingRestart"] = not found["isDynamicConfig"] and value[0] != found["defaultValue"]
    resource_id = f"{server.id}/configurations/{name}"
    return {"properties": properties, "id": resource_id, "name": name, "type": f"{KIND}/configurations"}


def _get_configuration(world: World, call: Call) -> Answer:
    found = parameter(server_of(world, call), call.names["parameter"])
    if found is None:
        raise not_found(call.id)
    return Answer(body=found)


def _list_configurations(world: World, call: Call) -> Answer:
    server = server_of(world, call)
    return Answer(body={"value": [parameter(server, name) for name in _PARAMETERS]})


def _change_configuration(model: str) -> Callable[[World, Call], Answer]:
    def answer(world: World, call: Call) -> Answer:
        check(call.body, _PACKAGE, model)
        server, name = server_of(world, call), call.names["parameter"]
        given = call.body.get("properties") or {}
        value = _checked(name, call, given)
        seconds = world.durations.pg_config_s
        occupy(world, server, seconds)

        def set_it() -> None:
            server.hidden["settings"][name] = (value,)

        kind = "UpdateConfigurationManagementOperation"
        operation = start(world, kind, _place(server), seconds, set_it)
        return postgres_answer(world, operation, call)

    return answer


def _checked(name: str, call: Call, given: Mapping[str, Any]) -> str:
    """The new value, which replaces the whole of the old one. A Set is compared without case (facts, 9)."""
    known = _PARAMETERS.get(name)
    if known is None:
        raise not_found(call.id)
    value = str(given.get("value", known["defaultValue"]))
    if known.get("isReadOnly"):
        raise _invalid(name)
    if known["dataType"] == "Set":
        allowed = {a.casefold() for a in known["allowedValues"].split(",")}
        if any(part.strip().casefold() not in allowed for part in value.split(",")) and value:
            raise _invalid(name)
    if known["dataType"] == "Integer" and not re.fullmatch(r"\d{1,10}", value):
        raise _invalid(name)
    return value


def _must_exist(world: World, call: Call) -> Answer:
    server_of(world, call)
    return lister(f"{KIND}/databases")(world, call)


_SERVER = (
    "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.DBforPostgreSQL/flexibleServers/{server}"
)


def _route(method: str, path: str, answer: Callable[[World, Call], Answer]) -> Route:
    kind = path.split("/", maxsplit=1)[0]
    return Route(
        method=method,
        template=f"{_SERVER}/{path}",
        answer=answer,
        service="Microsoft.DBforPostgreSQL",
        operation=f"{method} {kind}",
    )


ROUTES = [
    _route("PUT", "databases/{database}", _put_database),
    _route("GET", "databases/{database}", _get_database),
    _route("DELETE", "databases/{database}", _delete_database),
    _route("GET", "databases", _must_exist),
    _route("GET", "configurations/{parameter}", _get_configuration),
    _route("PATCH", "configurations/{parameter}", _change_configuration("ConfigurationForUpdate")),
    _route("PUT", "configurations/{parameter}", _change_configuration("Configuration")),
    _route("GET", "configurations", _list_configurations),
]
