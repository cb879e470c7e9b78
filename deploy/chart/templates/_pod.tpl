{{- /* The prefix of every name: the release, which two releases in one namespace do not share. */ -}}
{{- define "name" -}}
{{- $name := .Values.nameOverride | default (ternary .Release.Name (printf "%s-transfer-service" .Release.Name) (contains "transfer-service" .Release.Name)) -}}
{{- $name | trunc 50 | trimSuffix "-" -}}
{{- end }}

{{- /* What selects the pods of the release; with a component, those of one role. Takes root and component. */ -}}
{{- define "selector" -}}
app.kubernetes.io/name: transfer-service
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{- define "labels" -}}
{{ include "selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- /* Peers of a NetworkPolicy: the name of a namespace, or selectors and ipBlocks. */ -}}
{{- define "peers" -}}
{{- if kindIs "string" . -}}
- namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: {{ . }} } }
{{- else -}}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "image" -}}
{{- if .Values.image.digest -}} {{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}} {{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{- /* What every pod has, whatever its role: no more rights than it needs. */ -}}
{{- define "pod" -}}
automountServiceAccountToken: false
# A Service named `postgres` would set POSTGRES_PORT=tcp://…, which is a setting of the service.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- range $field, $value := omit .Values.pod "annotations" }}
{{- if $value }}
{{ toYaml (dict $field $value) }}
{{- end }}
{{- end }}
{{- end }}

{{- /* A duration of the settings, such as `10s`, in whole seconds, rounded up. */ -}}
{{- define "seconds" -}}
{{- $units := dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000 "d" 86400000 -}}
{{- $unit := regexFind "[a-z]+$" . | default "ms" -}}
{{- divf (mulf (regexFind "^[0-9]+" . | float64) (get $units $unit)) 1000 | ceil -}}
{{- end }}

{{- define "container" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{- /* Zones first, then nodes. A rollout counts the pods of the new version alone. */ -}}
{{- define "spread" -}}
topologySpreadConstraints:
  {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "selector" $ | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
  {{- end }}
{{- end }}

{{- /* The API and the worker scale by processor time, and are evicted one at a time. A pod that is not ready does not block a drain. */ -}}
{{- define "scaling" -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ include "name" .root }}-{{ .component }}
  labels:
    {{- include "labels" . | nindent 4 }}
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: {{ include "name" .root }}-{{ .component }} }
  minReplicas: {{ .autoscaling.minReplicas }}
  maxReplicas: {{ .autoscaling.maxReplicas }}
  metrics:
    - type: Resource
      resource: { name: cpu, target: { type: Utilization, averageUtilization: {{ .autoscaling.targetCPU }} } }
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "name" .root }}-{{ .component }}
  labels:
    {{- include "labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  # A pod that is not ready serves nobody: a drain may evict it, even during an outage of Postgres.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "selector" . | nindent 6 }}
{{- end }}

{{- define "podMetadata" -}}
labels:
  {{- include "labels" . | nindent 2 }}
annotations:
  # A changed setting rolls the pods.
  checksum/settings: {{ toJson .root.Values.settings | sha256sum }}
  {{- with .root.Values.pod.annotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- /* The volumes of the values, and the client certificate for Temporal: of a pod, and of its container. */ -}}
{{- define "volumes" -}}
{{- $volumes := .Values.volumes }}
{{- with .Values.temporalTls.secret }}
{{- $volumes = append $volumes (dict "name" "temporal-tls" "secret" (dict "secretName" .)) }}
{{- end }}
{{- with $volumes }}
volumes:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "volumeMounts" -}}
{{- $mounts := .Values.volumeMounts }}
{{- if .Values.temporalTls.secret }}
{{- $mounts = append $mounts (dict "name" "temporal-tls" "mountPath" "/etc/temporal-tls" "readOnly" true) }}
{{- end }}
{{- with $mounts }}
volumeMounts:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "temporalTlsEnv" -}}
{{- if .Values.temporalTls.secret }}
- { name: TEMPORAL_TLS_SERVER_CA_CERT_PATH, value: /etc/temporal-tls/ca.crt }
- { name: TEMPORAL_TLS_CLIENT_CERT_PATH, value: /etc/temporal-tls/tls.crt }
- { name: TEMPORAL_TLS_CLIENT_KEY_PATH, value: /etc/temporal-tls/tls.key }
{{- end }}
{{- end }}
