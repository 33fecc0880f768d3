{{/* Written by `npm run codegen:helm` from src/app/roles.ts. */}}
{{- define "espalier.reachedRoles" -}}
["api"]
{{- end -}}
