type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns what a started program inherits of an environment: what finds programs, libraries and devices, and the variables that
 * are named. Everything else stays here, keys of databases and model servers first.
 */
export function inheritable(own: Environment, named: ReadonlySet<string>): Environment {
  return Object.fromEntries(Object.entries(own).filter(([name]) => named.has(name) || isHarmless(name)));
}

const NAMES: ReadonlySet<string> = new Set(
  [
    'PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR TMP TEMP TERM NO_COLOR LD_LIBRARY_PATH VIRTUAL_ENV NO_PROXY no_proxy',
    'SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE MASTER_ADDR MASTER_PORT RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE',
  ].flatMap((names) => names.split(' ')),
);
const PREFIXES =
  /^(LC|XDG|PYTHON\w*|CONDA|CUDA|NVIDIA|ROCR|ROCM|HIP|NCCL|GLOO|PYTORCH|TORCH\w*|OMP|MKL|KMP|OPENBLAS|HF|TRANSFORMERS|TOKENIZERS|VLLM|SGLANG|SLURM)(_|$)/;
const SECRET = /KEY|TOKEN(?!IZERS)|SECRET|PASS|CREDENTIAL|AUTH/i;

function isHarmless(name: string): boolean {
  return NAMES.has(name) || (PREFIXES.test(name) && !SECRET.test(name));
}
