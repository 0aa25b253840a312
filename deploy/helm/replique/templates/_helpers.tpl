{{- define "replique.labels" -}}
app.kubernetes.io/name: replique
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "replique.selector" -}}
app.kubernetes.io/name: replique
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "replique.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
volumes:
  - name: tmp
    emptyDir: {}
{{- if .root.Values.storageClaim }}
  - name: files
    persistentVolumeClaim:
      claimName: {{ .root.Values.storageClaim }}
{{- end }}
{{- end }}

{{- define "replique.container" -}}
image: "{{ .root.Values.image.repository }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}"
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
envFrom:
  - secretRef:
      name: {{ .root.Values.secretName }}
volumeMounts:
  - name: tmp
    mountPath: /tmp
{{- if .root.Values.storageClaim }}
  - name: files
    mountPath: /var/lib/replique
{{- end }}
resources:
  {{- toYaml .resources | nindent 2 }}
env:
  - name: PUBLIC_URL
    value: {{ .root.Values.publicUrl | quote }}
{{- with .root.Values.storageUrl | default (ternary "/var/lib/replique/files" "" (ne .root.Values.storageClaim "")) }}
  - name: STORAGE_URL
    value: {{ . | quote }}
{{- end }}
  - name: REPLIQUE_QUEUE__DRAIN_SECONDS
    value: {{ .root.Values.workerDrainSeconds | quote }}
  - name: REPLIQUE_GATEWAY__DRAIN_SECONDS
    value: {{ .root.Values.gateway.drainSeconds | quote }}
{{- range $name, $value := .root.Values.env }}
  - name: {{ $name }}
    value: {{ $value | quote }}
{{- end }}
{{- end }}
