/** The record of a prompt does not come to the prompt that was shown. */
export class PromptUnreadable extends Error {
  override readonly name = 'PromptUnreadable';
  readonly stepId: string;
  constructor(stepId: string, reason: string) {
    super(`the prompt of step ${stepId} cannot be read from the record: ${reason}`);
    this.stepId = stepId;
  }
}
