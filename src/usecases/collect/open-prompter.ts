import { join } from 'node:path';
import { type KeyedStore, openFileKeyedStore } from '../../blobs/file-keyed-store.ts';
import { HistoryRenderer } from '../../images/history-renderer.ts';
import { renderSpec } from '../../images/render-profiles.ts';
import { SegmentCache } from '../../images/segment-cache.ts';
import { VISION_PRESETS, visionPreset } from '../../images/vision-tokens.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { findKnownSegments } from '../../projections/images/read-segments.ts';
import type { PromptPlan } from './prompting/prompt-plan.ts';
import { checkTemplate } from './prompting/prompter.ts';
import type { Drawing, Prompter } from './prompting/step-prompt.ts';

const drawings = new WeakMap<Platform, Map<string, Drawing>>();
const caches = new WeakMap<Platform, SegmentCache>();

/** The plan names something of images that this program does not have. */
export class PromptRefused extends Error {
  override readonly name = 'PromptRefused';
}

/**
 * Opens what composes the prompts of a plan. All runs of a process draw with one cache per platform, and share drawn segments
 * with other processes through the folder of the blob store. @throws PromptRefused, TemplateUnknown.
 */
export function openPrompter(platform: Platform, plan: PromptPlan): Prompter {
  checkTemplate(plan);
  if ((plan.mode === 'image') !== (plan.image !== null))
    throw new PromptRefused('prompt.image must be there in image mode, and null in text mode');
  return { plan, drawing: plan.image ? openDrawing(platform, plan.image) : null };
}

/** Opens the folder of drawn segments, by segment id, that all processes share. */
export function drawnSegments({ config }: Pick<Platform, 'config'>): KeyedStore {
  return openFileKeyedStore(join(config.blobs, 'segments'));
}

/** Returns the cache of drawn segments that all runs of a process share. */
export function segmentCacheOf(platform: Platform): SegmentCache {
  let cache = caches.get(platform);
  if (!cache) {
    cache = new SegmentCache({ store: drawnSegments(platform) });
    caches.set(platform, cache);
  }
  return cache;
}

/** Drops what this process keeps of drawn segments, and which of them it knows as recorded: some may be forgotten. */
export function dropDrawn(platform: Platform): void {
  caches.get(platform)?.clear();
  for (const { recorded, renderer } of drawings.get(platform)?.values() ?? []) {
    recorded.clear();
    renderer.clear();
  }
}

function openDrawing(platform: Platform, { profile, vision }: NonNullable<PromptPlan['image']>): Drawing {
  const known = drawings.get(platform) ?? new Map<string, Drawing>();
  drawings.set(platform, known);
  const key = `${profile} ${vision}`;
  const drawing = known.get(key) ?? {
    renderer: new HistoryRenderer(renderSpec(profile), { cache: segmentCacheOf(platform) }),
    vision: presetOf(vision),
    recorded: new Set<string>(),
    findRecorded: (ids) => findKnownSegments(platform.database.db, ids),
  };
  known.set(key, drawing);
  return drawing;
}

function presetOf(name: string): Drawing['vision'] {
  const preset = visionPreset(name);
  if (!preset)
    throw new PromptRefused(`there is no vision preset ${JSON.stringify(name)}; name ${Object.keys(VISION_PRESETS).join(', ')}`);
  return preset;
}
