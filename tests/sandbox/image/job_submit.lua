-- SPDX-FileCopyrightText: 2026 hpcops.slurm contributors
-- SPDX-License-Identifier: GPL-3.0-or-later
--
-- Accepts everything. Used only with JobSubmitPlugins=lua; a test may put its own in place, which
-- slurmctld reads when the file's time changes.

function slurm_job_submit(job_desc, part_list, submit_uid)
    return slurm.SUCCESS
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
    return slurm.SUCCESS
end
