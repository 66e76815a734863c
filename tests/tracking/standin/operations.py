"""The GraphQL operations of the stand-in, one method each, named as the client names them."""

import base64
import json
import re
from typing import Any

from tests.tracking.standin.store import CREATED, Store, StoredRun, encoded

Values = dict[str, Any]


class Refused(Exception):
    """An answer that only carries a message."""

    def __init__(self, message: str, status: int = 200) -> None:
        super().__init__(message)
        self.status = status


class Operations:
    """Answers from a store; `url` is where files are put and fetched."""

    def __init__(self, store: Store, url: str) -> None:
        self.store, self.url = store, url
        self.closed: set[str] = set()
        """Projects that nobody may write to."""

    def Viewer(self, v: Values) -> Values:  # noqa: N802
        name = self.store.entity
        return {
            "viewer": {
                "id": encoded("User:1"), "entity": name, "username": name, "name": name,
                "email": "", "flags": "{}", "admin": False, "teams": {"edges": []},
                "apiKeys": {"edges": []},
            }
        }  # fmt: skip

    GetViewer = GetDefaultEntity = Viewer

    def ServerFeaturesQuery(self, v: Values) -> Values:  # noqa: N802
        return {"serverInfo": {"features": []}}

    def OrganizationCoreWeaveOrganizationID(self, v: Values) -> Values:  # noqa: N802
        return {"entity": {"organization": None}}

    def _check(self, v: Values) -> None:
        entity = v.get("entity") or v.get("entityName") or self.store.entity
        if entity != self.store.entity:
            raise Refused(f"entity {entity} not found during upsertBucket", 404)
        if v.get("project") in self.closed:
            raise Refused("permission denied", 403)

    def _bucket(self, run: StoredRun) -> Values:
        return {
            "id": run.id, "name": run.name, "displayName": run.display, "description": None,
            "config": json.dumps(run.config), "sweepName": None,
            "project": self._project(run.project), "historyLineCount": len(run.history),
        }  # fmt: skip

    def _project(self, name: str) -> Values:
        entity = {"id": encoded(f"Entity:{self.store.entity}"), "name": self.store.entity}
        return {"id": encoded(f"Project:{name}"), "name": name, "entity": entity}

    def UpsertBucket(self, v: Values) -> Values:  # noqa: N802
        self._check(v)
        name, project = v.get("name"), v.get("project")
        if v.get("id"):
            _, _, name, project, _ = base64.b64decode(v["id"]).decode().split(":")
        assert name and project
        fresh = self.store.find(project, name) is None
        run = self.store.make(project, name)
        run.display = v.get("displayName") or run.display
        run.group = v.get("groupName") or run.group
        run.job_type = v.get("jobType") or run.job_type
        run.tags = v.get("tags") or run.tags
        # The public API names a run by its id: to change its config does not make it run.
        run.state = v.get("state") or (run.state if v.get("id") else "running")
        if v.get("config"):
            run.config = json.loads(v["config"])
        if v.get("summaryMetrics"):
            run.summary = json.loads(v["summaryMetrics"])
        return {"upsertBucket": {"bucket": self._bucket(run), "inserted": fresh}}

    def RunResumeStatus(self, v: Values) -> Values:  # noqa: N802
        self._check(v)
        run = self.store.find(v["project"], v["name"])
        bucket = None
        if run is not None:
            bucket = {
                "id": run.id, "name": run.name, "displayName": run.display, "tags": run.tags,
                "summaryMetrics": json.dumps(run.summary), "config": json.dumps(run.config),
                "logLineCount": len(run.log), "historyLineCount": len(run.history),
                "eventsLineCount": len(run.events), "notes": None,
                "historyTail": json.dumps(run.history[-1:]),
                "eventsTail": json.dumps(run.events[-1:]), "wandbConfig": json.dumps({"t": {}}),
            }  # fmt: skip
        return {"model": {**self._project(v["project"]), "bucket": bucket}}

    def CreateRunFiles(self, v: Values) -> Values:  # noqa: N802
        files = [
            {"name": name, "uploadUrl": f"{self.url}/storage/{v['project']}/{v['run']}/{name}"}
            for name in v["files"]
        ]
        return {"createRunFiles": {"runID": encoded("R"), "uploadHeaders": [], "files": files}}

    def UpsertView2(self, v: Values) -> Values:  # noqa: N802
        name = v.get("id") or encoded(f"View:{len(self.store.views)}")
        fresh = name not in self.store.views
        self.store.views[name] = v
        view = {"id": name, "name": v.get("name"), "displayName": v.get("displayName")}
        return {"upsertView": {"view": view, "inserted": fresh}}

    def View(self, v: Values) -> Values:  # noqa: N802
        nodes = [
            {"node": {"id": i, "displayName": view["displayName"], "spec": view["spec"]}}
            for i, view in self.store.views.items() if view["name"] == v["viewName"]
        ]  # fmt: skip
        return {"project": {"allViews": {"edges": nodes}}}

    def ArtifactType(self, v: Values) -> Values:  # noqa: N802
        return {"project": {"artifact": None}}

    def CreateArtifact(self, v: Values) -> Values:  # noqa: N802
        given = v["input"]
        name = encoded(f"Artifact:{len(self.store.artifacts)}")
        names = given.get("artifactCollectionNames") or [given.get("artifactCollectionName")]
        self.store.artifacts[name] = {
            "type": given["artifactTypeName"], "name": names[0], "state": "PENDING", "files": {},
            "aliases": [item["alias"] for item in given.get("aliases") or []],
            "metadata": given.get("metadata"),
        }  # fmt: skip
        artifact = {"id": name, "state": "PENDING", "artifactSequence": {"latestArtifact": None}}
        return {"createArtifact": {"artifact": artifact}}

    def CreateArtifactManifest(self, v: Values) -> Values:  # noqa: N802
        name = encoded(f"Manifest:{v['artifactID']}")
        url = f"{self.url}/storage/manifests/{name}"
        file = {"id": name, "name": v.get("name"), "displayName": v.get("name"), "uploadUrl": url,
                "uploadHeaders": []}  # fmt: skip
        return {"createArtifactManifest": {"artifactManifest": {"id": name, "file": file}}}

    UpdateArtifactManifest = CreateArtifactManifest

    def CreateArtifactFiles(self, v: Values) -> Values:  # noqa: N802
        edges = []
        for spec in v["input"]["artifactFiles"]:
            path = f"artifacts/{spec['artifactID']}/{spec['name']}"
            self.store.artifacts[spec["artifactID"]]["files"][spec["name"]] = f"/storage/{path}"
            node = {"storagePath": path, "uploadUrl": f"{self.url}/storage/{path}",
                    "uploadHeaders": [], "uploadMultipartUrls": None,
                    "artifact": {"id": spec["artifactID"]}}  # fmt: skip
            edges.append({"node": node})
        return {"createArtifactFiles": {"files": {"edges": edges}}}

    def CommitArtifact(self, v: Values) -> Values:  # noqa: N802
        self.store.artifacts[v["artifactID"]]["state"] = "COMMITTED"
        return {"commitArtifact": {"artifact": {"id": v["artifactID"], "digest": ""}}}

    def _node(self, run: StoredRun) -> Values:
        rows = run.rows()
        counts = [{"type": "number", "count": len(rows)}]
        keys = {name: {"typeCounts": counts} for row in rows for name in row}
        last = max((row["_step"] for row in rows), default=-1)
        return {
            "id": run.id, "projectId": "1", "tags": run.tags, "name": run.name,
            "displayName": run.display, "sweepName": None, "state": run.state,
            "config": json.dumps(run.config), "group": run.group, "jobType": run.job_type,
            "commit": None, "readOnly": False, "createdAt": CREATED, "heartbeatAt": CREATED,
            "description": None, "notes": None, "systemMetrics": "{}",
            "summaryMetrics": json.dumps(run.summary), "historyLineCount": len(run.history),
            "user": {"name": run.entity, "username": run.entity},
            "historyKeys": {"sets": [], "keys": keys, "lastStep": last},
        }  # fmt: skip

    def Runs(self, v: Values) -> Values:  # noqa: N802
        self._check(v)
        if v["project"] not in self.store.projects():
            return {"project": None}
        wanted = json.loads(v.get("filters") or "{}")
        runs = [
            run for (project, _), run in self.store.runs.items()
            if project == v["project"] and _matches(run, wanted)
        ]  # fmt: skip
        start, size = int(v.get("cursor") or 0), v.get("perPage") or 50
        page = runs[start : start + size]
        end = start + len(page)
        edges = [{"node": self._node(run), "cursor": str(end)} for run in page]
        info = {"endCursor": str(end), "hasNextPage": end < len(runs)}
        found = {"edges": edges, "pageInfo": info}
        return {
            "project": {"internalId": "1", "runCount": len(runs), "readOnly": False, "runs": found}
        }

    def _one(self, v: Values) -> StoredRun | None:
        self._check(v)
        name = v.get("name") or v.get("run") or v.get("runName", "")
        return self.store.find(v["project"], name)

    def Run(self, v: Values) -> Values:  # noqa: N802
        if v["project"] not in self.store.projects():
            return {"project": None}
        run = self._one(v)
        return {"project": {"internalId": "1", "run": self._node(run) if run else None}}

    RunHistoryKeys = RunState = QueryRunInfo = Run

    def RunParquetHistory(self, v: Values) -> Values:  # noqa: N802
        run = self._one(v)
        assert run is not None
        urls, live = [], []
        if run.exported:
            path = f"/storage/exports/{run.project}/{run.name}.parquet"
            self.store.files[path] = run.parquet()
            urls = [f"{self.url}{path}"]
        elif run.history:
            live = [{"_step": run.rows()[0]["_step"]}]
        history = {"parquetUrls": urls, "liveData": live}
        return {"project": {"internalId": "1", "run": {"parquetHistory": history}}}

    def HistoryPage(self, v: Values) -> Values:  # noqa: N802
        run = self._one(v)
        assert run is not None
        page = run.between(v["minStep"], v["maxStep"])[: v["pageSize"]]
        return {"project": {"internalId": "1", "run": {"history": page}}}

    def RunFiles(self, v: Values) -> Values:  # noqa: N802
        run = self._one(v)
        assert run is not None
        prefix = f"/storage/{run.project}/{run.name}/"
        names = [path.removeprefix(prefix) for path in self.store.files if path.startswith(prefix)]
        if v.get("fileNames"):
            names = [name for name in names if name in v["fileNames"]]
        edges = [
            {
                "node": {
                    "id": encoded(f"File:{name}"), "name": name, "mimetype": "",
                    "url": f"{self.url}{prefix}{name}", "directUrl": f"{self.url}{prefix}{name}",
                    "sizeBytes": str(len(self.store.files[prefix + name])),
                    "updatedAt": CREATED, "md5": "",
                },
                "cursor": name,
            }
            for name in sorted(names)
        ]  # fmt: skip
        files = {"edges": edges, "pageInfo": {"endCursor": None, "hasNextPage": False}}
        found = {"fileCount": len(edges), "files": files}
        return {"project": {"internalId": "1", "run": found}}


def _matches(run: StoredRun, wanted: Values) -> bool:
    """Tell whether a run passes the filters, of which a few kinds are known."""
    for key, value in wanted.items():
        if key == "$and":
            good = all(_matches(run, item) for item in value)
        elif key == "$or":
            good = any(_matches(run, item) for item in value)
        else:
            kept = {"display_name": run.display, "group": run.group, "jobType": run.job_type}
            found = run.tags if key == "tags" else kept[key]
            if isinstance(value, dict):
                ((operator, operand),) = value.items()
                rules = {"$in": lambda f, o: f in o, "$eq": lambda f, o: f == o,
                         "$regex": lambda f, o: re.search(o, str(f)) is not None}  # fmt: skip
                good = rules[operator](found, operand)
            else:
                good = value in found if isinstance(found, list) else found == value
        if not good:
            return False
    return True
