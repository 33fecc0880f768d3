import type { BlobStore } from '../../src/blobs/blob-store.ts';
import { isUuid } from '../../src/domain/ids.ts';
import type { Db } from '../../src/postgres/database.ts';
import type { Principal } from '../../src/postgres/principal.ts';
import { PictureUndrawable, pictureReader } from '../../src/projections/images/draw-picture.ts';
import { visibleTo } from '../../src/projections/visible-to.ts';
import { type Logger, SILENT } from '../../src/runtime/logger.ts';
import type { ServerContext } from '../context.ts';
import { refusal } from '../tables/refusal.ts';
import type { ReadImage } from './embed-images.ts';
import { gatherPage, type PageOf } from './gather-page.ts';
import { OperationFailed, type PageRequest } from './page-draft.ts';
import { openPageWriter, StudioNotBuilt } from './write-page.ts';

export interface PagesOptions {
  readonly db: Db;
  readonly blobs: Pick<BlobStore, 'get'>;
  readonly graphql: PageRequest['graphql'];
  readonly logger?: Logger;
}

const AT_ONCE = 2; // pages that are gathered; each holds some dozens of megabytes

/** Answers `GET /v1/pages?id=ID[&tree=ID]` with a page that opens without a server: GraphQL is asked as the caller. */
export function createPages({ db, blobs, graphql, logger = SILENT }: PagesOptions) {
  let gathering = 0;
  async function fetch(request: Request, context: ServerContext): Promise<Response> {
    const { searchParams } = new URL(request.url);
    const [id, tree] = [searchParams.get('id') ?? '', searchParams.get('tree') ?? undefined];
    if (!isUuid(id) || (tree !== undefined && !isUuid(tree)))
      return refusal(400, 'invalid', 'id and tree are UUIDs in lower case', 'name a run, a tree or a rollout');
    if (gathering >= AT_ONCE) return refusal(429, 'busy', 'too many pages are being written', 'ask again in a moment', 2);
    gathering++;
    try {
      return await answer({ id, tree }, request.signal, context);
    } catch (error) {
      if (error instanceof OperationFailed)
        return refusal(error.status, 'unprocessable', error.message, 'ask for less', Number(error.retryAfter ?? 0) || undefined);
      if (error instanceof StudioNotBuilt)
        return refusal(503, 'unavailable', 'the studio of this server is not built', 'run `npm run studio:build` there');
      if (request.signal.aborted) return refusal(499, 'left', 'the caller left', 'ask again');
      logger.error('a page was not written', { error });
      return refusal(500, 'fault', 'this is a fault of the server; its log says more', 'report it with the time of the request');
    } finally {
      gathering--;
    }
  }

  async function answer(of: PageOf, signal: AbortSignal, context: ServerContext): Promise<Response> {
    const write = await openPageWriter();
    const image = visibleImages({ db, blobs }, context.principal);
    const source = 'an installation of Espalier';
    const record = await gatherPage({ graphql, context, signal, image, source, madeAt: new Date() }, of);
    if (!record) return refusal(404, 'not-found', `no run, tree or rollout has the id ${of.id}`, 'GraphQL lists them');
    return new Response(write(record), {
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'content-disposition': `attachment; filename="${of.id}.html"`,
      },
    });
  }

  return { fetch };
}

/** Reads the images that somebody sees. */
export function visibleImages({ db, blobs }: Pick<PagesOptions, 'db' | 'blobs'>, principal: Principal): ReadImage {
  const draw = pictureReader({ db: visibleTo(db, principal), keys: db, blobs });
  return async (imageId) => {
    try {
      return (await draw({ imageId, steps: [] })).png;
    } catch (error) {
      if (error instanceof PictureUndrawable) return undefined;
      throw error;
    }
  };
}
