{{- define "espalier.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 20 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels by which a component is selected: (dict "root" $ "component" "api"). */}}
{{- define "espalier.selector" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{- define "espalier.labels" -}}
{{ include "espalier.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "espalier.image" -}}
{{- $image := .image -}}
{{- if $image.digest -}}
{{ printf "%s@%s" $image.repository $image.digest }}
{{- else -}}
{{ printf "%s:%s" $image.repository (default .root.Chart.AppVersion $image.tag) }}
{{- end -}}
{{- end -}}

{{/* Address of the API within the cluster. */}}
{{- define "espalier.url" -}}
http://{{ include "espalier.fullname" . }}-api:{{ .Values.ports.http }}
{{- end -}}

{{/* Names that the API answers to when it is behind an ingress; those of loopback are of `kubectl port-forward`. */}}
{{- define "espalier.hosts" -}}
{{- $service := printf "%s-api" (include "espalier.fullname" .) -}}
{{- $inside := printf "%s.%s" $service .Release.Namespace -}}
{{- join "," (list .Values.ingress.host "localhost" "127.0.0.1" $service $inside (printf "%s.svc" $inside) (printf "%s.svc.cluster.local" $inside)) -}}
{{- end -}}

{{/* Variables of a process: (dict "root" $ "home" true "listens" true). */}}
{{- define "espalier.env" -}}
{{- $values := .root.Values -}}
- { name: ESPALIER_HOME, value: /data }
- { name: ESPALIER_BLOBS, value: /blobs }
- { name: ESPALIER_HOST, value: {{ $values.host | quote }} }
- { name: ESPALIER_PROBE_PORT, value: {{ $values.ports.probes | quote }} }
{{- if .reached }}
- { name: ESPALIER_PORT, value: {{ $values.ports.http | quote }} }
- { name: ESPALIER_DRAIN_MS, value: {{ mul $values.drainSeconds 1000 | quote }} }
{{- if and $values.ingress.enabled (not $values.settings.ESPALIER_ALLOWED_HOSTS) }}
- { name: ESPALIER_ALLOWED_HOSTS, value: {{ include "espalier.hosts" .root | quote }} }
{{- end }}
{{- end }}
- { name: DATABASE_URL_FILE, value: /run/espalier/database/url }
{{- if $values.database.directUrlKey }}
- { name: DATABASE_DIRECT_URL_FILE, value: /run/espalier/database/direct-url }
{{- end }}
{{- if $values.database.replicaUrlKey }}
- { name: DATABASE_REPLICA_URL_FILE, value: /run/espalier/database/replica-url }
{{- end }}
{{- with $values.kafka }}
{{- if .brokers }}
- { name: KAFKA_BROKERS, value: {{ .brokers | quote }} }
- { name: KAFKA_SECURITY_PROTOCOL, value: {{ .protocol }} }
{{- if hasPrefix "SASL" .protocol }}
- { name: KAFKA_SASL_MECHANISM, value: {{ .mechanism }} }
- { name: KAFKA_SASL_USERNAME, value: {{ required "kafka.username is required by kafka.protocol" .username | quote }} }
{{- $_ := required "kafka.secret is required by kafka.protocol: the name of a Secret with the password" .secret }}
- { name: KAFKA_SASL_PASSWORD_FILE, value: /run/espalier/kafka/password }
{{- end }}
{{- if contains "SSL" .protocol }}
{{- if .caKey }}
- { name: KAFKA_SSL_CA_FILE, value: /run/espalier/kafka/ca.pem }
{{- end }}
{{- if .certificateKey }}
- { name: KAFKA_SSL_CERT_FILE, value: /run/espalier/kafka/certificate.pem }
- { name: KAFKA_SSL_KEY_FILE, value: /run/espalier/kafka/key.pem }
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- if $values.firstKey.secret }}
- { name: ESPALIER_FIRST_KEY_HASH_FILE, value: /run/espalier/first-key/hash }
{{- end }}
{{- if $values.masterKey.secret }}
- { name: ESPALIER_MASTER_KEY_FILE, value: /run/espalier/master-key/key }
{{- end }}
{{- if $values.openTelemetry.secret }}
- { name: OTEL_EXPORTER_OTLP_HEADERS_FILE, value: /run/espalier/open-telemetry/headers }
{{- end }}
{{- range $name, $value := $values.settings }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- with $values.env }}
{{ toYaml . }}
{{- end }}
{{- with .env }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Mode 0440: the group of the pod may read. */}}
{{- define "espalier.secretVolume" -}}
- name: {{ .name }}
  secret:
    secretName: {{ .secret }}
    defaultMode: 288
    {{- with .items }}
    items:
      {{- range $key, $path := . }}
      - { key: {{ $key | quote }}, path: {{ $path }} }
      {{- end }}
    {{- end }}
{{- end -}}

{{/* Volumes of a pod: (dict "root" $ "storage" "shared"|"own" "files" NAME). */}}
{{- define "espalier.volumes" -}}
{{- $values := .root.Values -}}
{{- $full := include "espalier.fullname" .root -}}
- name: tmp
  emptyDir: {}
{{- $storage := .storage }}
{{- with $values.storage.blobs }}
{{- if not (or .claim .size (hasKey $values.settings "ESPALIER_OBJECTS")) }}
{{- fail "storage.blobs needs a claim or a size, unless settings.ESPALIER_OBJECTS names a bucket: payloads would go with their pod" }}
{{- end }}
{{- end }}
{{- range $name := list "blobs" "home" }}
{{- $volume := get $values.storage $name }}
- name: {{ $name }}
{{- if and (ne $storage "own") (or $volume.claim $volume.size) }}
  persistentVolumeClaim: { claimName: {{ default (printf "%s-%s" $full $name) $volume.claim }} }
{{- else }}
  emptyDir: {}
{{- end }}
{{- end }}
{{- $items := dict $values.database.urlKey "url" }}
{{- with $values.database }}
{{- with .directUrlKey }}{{ $_ := set $items . "direct-url" }}{{ end }}
{{- with .replicaUrlKey }}{{ $_ := set $items . "replica-url" }}{{ end }}
{{- with .caKey }}{{ $_ := set $items . "ca.pem" }}{{ end }}
{{- end }}
{{ include "espalier.secretVolume" (dict "name" "database" "secret" (required "database.secret is required: the name of a Secret with the URL of Postgres" $values.database.secret) "items" $items) }}
{{- with $values.kafka }}
{{- if and .brokers .secret }}
{{- $items := dict }}
{{- if and .passwordKey (hasPrefix "SASL" .protocol) }}{{ $_ := set $items .passwordKey "password" }}{{ end }}
{{- with .caKey }}{{ $_ := set $items . "ca.pem" }}{{ end }}
{{- with .certificateKey }}{{ $_ := set $items . "certificate.pem" }}{{ end }}
{{- with .privateKeyKey }}{{ $_ := set $items . "key.pem" }}{{ end }}
{{ include "espalier.secretVolume" (dict "name" "kafka" "secret" .secret "items" $items) }}
{{- end }}
{{- end }}
{{- with $values.firstKey }}
{{- if .secret }}
{{ include "espalier.secretVolume" (dict "name" "first-key" "secret" .secret "items" (dict .hashKey "hash")) }}
{{- end }}
{{- end }}
{{- with $values.masterKey }}
{{- if .secret }}
{{ include "espalier.secretVolume" (dict "name" "master-key" "secret" .secret "items" (dict .key "key")) }}
{{- end }}
{{- end }}
{{- with $values.openTelemetry }}
{{- if .secret }}
{{ include "espalier.secretVolume" (dict "name" "open-telemetry" "secret" .secret "items" (dict .headersKey "headers")) }}
{{- end }}
{{- end }}
{{- with $values.namedSecrets.secret }}
{{ include "espalier.secretVolume" (dict "name" "named-secrets" "secret" .) }}
{{- end }}
{{- with .files }}
- name: files
  configMap: { name: {{ . }} }
{{- end }}
{{- end -}}

{{- define "espalier.mounts" -}}
{{- $values := .root.Values -}}
- { name: tmp, mountPath: /tmp }
- { name: home, mountPath: /data }
- { name: blobs, mountPath: /blobs }
- { name: database, mountPath: /run/espalier/database, readOnly: true }
{{- if and $values.kafka.brokers $values.kafka.secret }}
- { name: kafka, mountPath: /run/espalier/kafka, readOnly: true }
{{- end }}
{{- if $values.firstKey.secret }}
- { name: first-key, mountPath: /run/espalier/first-key, readOnly: true }
{{- end }}
{{- if $values.masterKey.secret }}
- { name: master-key, mountPath: /run/espalier/master-key, readOnly: true }
{{- end }}
{{- if $values.openTelemetry.secret }}
- { name: open-telemetry, mountPath: /run/espalier/open-telemetry, readOnly: true }
{{- end }}
{{- if $values.namedSecrets.secret }}
- { name: named-secrets, mountPath: /data/secrets, readOnly: true }
{{- end }}
{{- if .files }}
- { name: files, mountPath: /etc/espalier, readOnly: true }
{{- end }}
{{- end -}}

{{- define "espalier.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities: { drop: [ALL] }
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{/* What pods have in common: (dict "root" $ "component" NAME "account" NAME "own" VALUES). */}}
{{- define "espalier.podSpec" -}}
{{- $pods := .root.Values.pods -}}
{{- $own := default dict .own -}}
serviceAccountName: {{ .account }}
automountServiceAccountToken: false
enableServiceLinks: false # a Service named espalier would set ESPALIER_PORT
securityContext: {{ toYaml $pods.securityContext | nindent 2 }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with $pods.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with default $pods.nodeSelector $own.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with default $pods.tolerations $own.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with default $pods.affinity $own.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "espalier.podMetadata" -}}
labels: {{ include "espalier.labels" (dict "root" .root "component" .component) | nindent 2 }}
  {{- with .root.Values.pods.labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  prometheus.io/scrape: "true"
  prometheus.io/port: {{ .root.Values.ports.probes | quote }}
  {{- with .root.Values.pods.annotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* A container of the server: (dict "root" $ "name" NAME "words" LIST "own" VALUES "reached" false "probed" true). */}}
{{- define "espalier.container" -}}
{{- $values := .root.Values -}}
name: espalier
image: {{ include "espalier.image" (dict "root" .root "image" (default $values.image .image)) }}
imagePullPolicy: {{ (default $values.image .image).pullPolicy }}
args: {{ toJson .words }}
env: {{ include "espalier.env" (dict "root" .root "reached" .reached "env" .own.env) | nindent 2 }}
securityContext: {{ include "espalier.containerSecurity" . | nindent 2 }}
resources: {{ toYaml (default dict .resources) | nindent 2 }}
volumeMounts: {{ include "espalier.mounts" . | nindent 2 }}
{{- if .probed }}
ports:
  - { name: probes, containerPort: {{ $values.ports.probes }} }
  {{- if .reached }}
  - { name: http, containerPort: {{ $values.ports.http }} }
  {{- end }}
livenessProbe:
  httpGet: { path: /healthz, port: probes }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: /readyz, port: probes }
  periodSeconds: 5
  timeoutSeconds: 3
  failureThreshold: 2
{{- end }}
{{- end -}}

{{/*
A Job that continues where an interrupted one ended: (dict "root" $ "component" "collect" "name" NAME "words" LIST "own" VALUES "file"
NAME-OF-FILE "text" TEXT). Its name changes with what it runs, since a Job cannot be changed.
*/}}
{{- define "espalier.job" -}}
{{- $full := include "espalier.fullname" .root -}}
{{- $files := "" -}}
{{- if .text }}{{ $files = printf "%s-%s-%s" $full .component .own.name }}{{ end -}}
{{- $spec := include "espalier.jobPod" (merge (dict "files" $files) .) -}}
{{- if .text }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $files }}
  labels: {{ include "espalier.labels" (dict "root" .root "component" .component) | nindent 4 }}
data:
  {{ .file }}: {{ .text | quote }}
---
{{- end }}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ printf "%s-%s-%s-%s" $full .component .own.name (printf "%s%s" $spec .text | sha256sum | trunc 8) }}
  labels: {{ include "espalier.labels" (dict "root" .root "component" .component) | nindent 4 }}
spec:
  backoffLimit: {{ include "espalier.backoffLimit" .own }}
  template: {{ $spec | nindent 4 }}
{{- end -}}

{{- define "espalier.backoffLimit" -}}
{{ ternary .backoffLimit 20 (hasKey . "backoffLimit") }}
{{- end -}}

{{- define "espalier.jobPod" -}}
metadata: {{ include "espalier.podMetadata" . | nindent 2 }}
spec:
  {{- include "espalier.podSpec" (dict "root" .root "own" .own "account" (printf "%s-jobs" (include "espalier.fullname" .root))) | nindent 2 }}
  restartPolicy: OnFailure
  terminationGracePeriodSeconds: 60
  containers:
    - {{ include "espalier.container" (dict "root" .root "words" .words "own" .own "resources" (default .own.resources .resources) "image" .image "files" .files "reached" false "probed" .probed) | nindent 6 | trim }}
  volumes: {{ include "espalier.volumes" (dict "root" .root "storage" "shared" "files" .files) | nindent 4 }}
{{- end -}}
