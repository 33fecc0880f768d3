/** The declaration names no estimator, an option that it does not have, or rewards without the metric. */
export class TrainingRefused extends Error {
  override readonly name = 'TrainingRefused';
}
